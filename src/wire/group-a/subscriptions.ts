import { Type, type Static } from 'typebox'

import {
  DELIVERY_STATES,
  ENDPOINT_STATES,
  NOTIFICATION_TYPES,
  TRY_OUTCOMES,
  type Notification,
} from '../../domain/notifications.ts'
import {
  AnswerBytesSchema,
  int64,
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedObject,
  namedRequest,
  nullable,
  requestObject,
  TimestampSchema,
  UuidSchema,
} from '../shapes.ts'
import { IdempotencyKeySchema } from './lists.ts'

const NotificationTypeSchema = Type.Enum([...NOTIFICATION_TYPES])

const WebhookUrlSchema = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'A public address with https. The sandbox also allows this machine with http.',
  examples: ['https://hooks.example.com/quittance'],
})

export const MAX_ENTRIES = 20

export const SubscriptionCreateSchema = namedRequest(
  'SubscriptionRequest',
  {
    url: Type.Optional(WebhookUrlSchema),
    endpoint: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'Another name for `url`, which some clients use.',
      }),
    ),
    subscriptionDetails: Type.Optional(
      Type.Array(
        requestObject({
          url: Type.Optional(WebhookUrlSchema),
          notificationType: NotificationTypeSchema,
        }),
        {
          maxItems: MAX_ENTRIES,
          description:
            'Which type goes to which URL. Default: payments, transfers and chargebacks. ' +
            '`transactions` and `batches` are the events that `GET /api/events` lists.',
        },
      ),
    ),
    idempotencyKey: IdempotencyKeySchema,
  },
  { description: 'A `url`, or a `url` in each entry.' },
)
export type SubscriptionCreate = Static<typeof SubscriptionCreateSchema>

const SUBSCRIPTION_FIELDS = {
  id: UuidSchema,
  url: nullable(Type.String()),
  endpoint: nullable(Type.String({ description: 'The same as `url`.' })),
  subscriptionDetails: Type.Array(
    Type.Object({
      url: Type.String(),
      notificationType: NotificationTypeSchema,
      status: Type.Enum([...ENDPOINT_STATES], {
        description:
          'Pending until the URL answers a signed ping with a 2xx status. Disabled after an ' +
          '410, after five days of failures, or if it never answered the ping. Replay the ping ' +
          'to try it again.',
      }),
    }),
  ),
  createDate: TimestampSchema,
  updateDate: TimestampSchema,
}

const SubscriptionSchema = namedObject('Subscription', SUBSCRIPTION_FIELDS)
export type SubscriptionWire = Static<typeof SubscriptionSchema>

const SecretSchema = Type.String({
  pattern: '^whsec_',
  description: 'Verifies the signatures (Standard Webhooks 1.0). It is shown only once.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDDWkIQVrZcXk='],
})

export const SubscriptionCreatedSchema = namedObject('SubscriptionCreated', {
  data: Type.Object({ ...SUBSCRIPTION_FIELDS, secret: SecretSchema }),
})

export const SubscriptionAnswerSchema = namedObject('SubscriptionAnswer', {
  data: SubscriptionSchema,
})

export const SubscriptionListSchema = namedObject('SubscriptionList', {
  data: Type.Array(SubscriptionSchema),
})

export const SubscriptionDeletedSchema = namedObject('SubscriptionDeleted', {
  data: Type.Object({}),
})

export const SecretCreatedSchema = namedObject('SecretCreated', {
  data: Type.Object({
    id: UuidSchema,
    secret: SecretSchema,
    previousSecretExpireDate: nullable(TimestampSchema),
  }),
})

export const SubscriptionParamsSchema = requestObject({ id: UuidSchema })

export const DeliveryParamsSchema = requestObject({ id: UuidSchema })

export const DeliveryListQuerySchema = requestObject({
  status: Type.Optional(Type.Enum([...DELIVERY_STATES])),
  pageSize: ListLimitSchema,
  pageAfter: Type.Optional(
    Type.String({
      ...UuidSchema,
      description: 'The id of the last delivery of the previous page.',
    }),
  ),
})

const DeliverySchema = namedObject('Delivery', {
  id: UuidSchema,
  subscriptionId: UuidSchema,
  notificationId: Type.String({
    ...UuidSchema,
    description: 'The `webhook-id`, which is also the `id` of the body: the same at each try.',
  }),
  notificationType: Type.Enum([...NOTIFICATION_TYPES, 'ping']),
  sequence: nullable(
    int64({
      description:
        'Counts your notifications, from 1 and without gaps, in the order of the changes. ' +
        'A ping has none.',
      examples: [17],
    }),
  ),
  url: Type.String(),
  status: Type.Enum([...DELIVERY_STATES]),
  tries: Type.Integer({ minimum: 0, description: 'Since it was created or replayed.' }),
  nextTryDate: nullable(TimestampSchema),
  latestTries: Type.Array(
    Type.Object({
      date: TimestampSchema,
      durationMs: Type.Integer({ minimum: 0 }),
      outcome: Type.Enum([...TRY_OUTCOMES]),
      statusCode: nullable(Type.Integer({ examples: [500] })),
      answerBytes: AnswerBytesSchema,
      error: nullable(
        Type.String({
          description: 'The reason, if there was no answer.',
          examples: ['ECONNREFUSED', 'timed_out', 'address_forbidden'],
        }),
      ),
    }),
    { description: 'Newest first.' },
  ),
  createDate: TimestampSchema,
  updateDate: TimestampSchema,
})
export type DeliveryWire = Static<typeof DeliverySchema>

export const DeliveryListSchema = namedObject('DeliveryList', {
  data: Type.Array(DeliverySchema, { maxItems: LIST_LIMIT_MAX }),
})

export const DeliveryAnswerSchema = namedObject('DeliveryAnswer', { data: DeliverySchema })

/**
 * The body of a webhook. The same notification always has the same text: its signature covers it,
 * and receivers compare what comes again.
 */
export function notificationText(notification: Notification): string {
  const { userId, type, body, id, createdAt, sequence } = notification
  const clientId = String(userId)
  return JSON.stringify({
    clientId,
    notificationType: type,
    version: 1,
    customAttributes: { clientId },
    [OBJECT_FIELDS[type]]: body,
    id,
    timestamp: createdAt.toISOString(),
    ...(sequence === null ? {} : { sequence: Number(sequence) }),
  })
}

/** What stays the same at each try; the time and the signature are made for each. */
export function webhookHeaders({ id }: Pick<Notification, 'id'>): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Quittance-Webhooks/1',
    'webhook-id': id,
  }
}

/** Under which name a notification has what it is about. */
export const OBJECT_FIELDS = {
  payments: 'payment',
  transfers: 'transfer',
  chargebacks: 'chargeback',
  transactions: 'event',
  batches: 'event',
  ping: 'ping',
} as const satisfies Record<Notification['type'], string>
