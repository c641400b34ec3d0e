import { Type, type Static } from 'typebox'

import {
  DELIVERY_STATES,
  ENDPOINT_STATES,
  NOTIFICATION_TYPES,
  TRY_OUTCOMES,
} from '../../domain/notifications.ts'
import {
  AnswerBytesSchema,
  int64,
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  UserIdSchema,
  UuidSchema,
} from '../shapes.ts'

export const AnyDeliveryParamsSchema = requestObject({ id: UuidSchema })

export const AnyDeliveryListQuerySchema = requestObject({
  user_id: Type.Optional(UserIdSchema),
  status: Type.Optional(Type.Enum([...DELIVERY_STATES])),
  about: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 150,
      description: 'The id of the payment, transfer or transaction that they are about.',
    }),
  ),
  limit: ListLimitSchema,
  after: Type.Optional(
    Type.String({ ...UuidSchema, description: 'The `next_after` of the previous page.' }),
  ),
})

const TrySchema = Type.Object({
  created_at: TimestampSchema,
  duration_ms: Type.Integer({ minimum: 0 }),
  outcome: Type.Enum([...TRY_OUTCOMES]),
  status_code: nullable(Type.Integer({ examples: [500] })),
  answer_bytes: AnswerBytesSchema,
  error: nullable(
    Type.String({ description: 'The reason, if there was no answer.', examples: ['ECONNREFUSED'] }),
  ),
})

const AnyDeliverySchema = namedObject('Delivery', {
  id: UuidSchema,
  user_id: Type.Integer(),
  username: Type.String(),
  subscription_id: Type.String(),
  notification_id: Type.String({ description: 'The `webhook-id`, the same at each try.' }),
  notification_type: Type.Enum([...NOTIFICATION_TYPES, 'ping']),
  sequence: nullable(int64({ description: 'A ping has none.', examples: [17] })),
  url: Type.String(),
  url_status: Type.Enum([...ENDPOINT_STATES]),
  status: Type.Enum([...DELIVERY_STATES]),
  tries: Type.Integer({ minimum: 0, description: 'Since it was created or replayed.' }),
  next_try_at: nullable(TimestampSchema),
  latest_tries: Type.Array(TrySchema, { description: 'Newest first.' }),
  created_at: TimestampSchema,
  updated_at: TimestampSchema,
})
export type AnyDeliveryWire = Static<typeof AnyDeliverySchema>

export const AnyDeliveryListSchema = namedAnswer('DeliveryList', {
  deliveries: Type.Array(AnyDeliverySchema, { maxItems: LIST_LIMIT_MAX }),
  limit: Type.Integer({ minimum: 1 }),
  next_after: nullable(
    Type.String({ description: 'Send this as `after` for the next page; null on the last page.' }),
  ),
})

export const AnyDeliveryDetailSchema = namedAnswer('DeliveryDetail', {
  delivery: AnyDeliverySchema,
  headers: Type.Record(Type.String(), Type.String(), {
    description:
      'The headers of each try. `webhook-timestamp` and `webhook-signature` are made for each try.',
    examples: [{ 'webhook-id': 'b3d9d2d5-4c12-4946-a09d-953e82fae2b0' }],
  }),
  payload: Type.String({ description: 'The body, with the same bytes at each try.' }),
})
export type AnyDeliveryDetailWire = Static<typeof AnyDeliveryDetailSchema>

export const AnyDeliveryAnswerSchema = namedAnswer('DeliveryAnswer', {
  delivery: AnyDeliverySchema,
})
