import { Type, type TObject } from 'typebox'

import type { Notification } from '../../domain/notifications.ts'
import { EventFieldsSchema } from '../group-b/events.ts'
import { int64, namedObject, TimestampSchema, UuidSchema } from '../shapes.ts'
import { PaymentSchema } from './payments.ts'
import { OBJECT_FIELDS } from './subscriptions.ts'
import { TransferSchema } from './transfers.ts'

const ChargebackSchema = namedObject('Chargeback', {
  id: Type.String({ description: 'The id of the dispute at the gateway.' }),
  type: Type.Literal('chargeback'),
  paymentId: Type.String({ description: 'The `transaction_id` of the payment.' }),
  amount: Type.String({ examples: ['20.00'] }),
  currency: Type.String({ examples: ['USD'] }),
  status: Type.String({ examples: ['needs_response'] }),
  reason: Type.String({ examples: ['fraudulent'] }),
  history: Type.Array(Type.Object({ status: Type.String(), createDate: TimestampSchema })),
  createDate: TimestampSchema,
  updateDate: TimestampSchema,
})

const PingSchema = namedObject('Ping', { subscriptionId: UuidSchema })

/** What each type of notification is about. */
const OBJECTS: Record<Notification['type'], TObject> = {
  payments: PaymentSchema,
  transfers: TransferSchema,
  chargebacks: ChargebackSchema,
  transactions: EventFieldsSchema,
  batches: EventFieldsSchema,
  ping: PingSchema,
}

/** The body of a webhook, as `notificationText` writes it. */
export function notificationSchema(type: Notification['type']): TObject {
  const clientId = Type.String({ description: 'Your user.', examples: ['3'] })
  return Type.Object({
    clientId,
    notificationType: Type.Literal(type),
    version: Type.Literal(1),
    customAttributes: Type.Object({ clientId }),
    [OBJECT_FIELDS[type]]: OBJECTS[type],
    id: Type.String({ ...UuidSchema, description: 'The same as `webhook-id`, at each try.' }),
    timestamp: TimestampSchema,
    ...(type !== 'ping' && {
      sequence: int64({
        description: 'Counts your notifications, from 1 and without gaps.',
        examples: [17],
      }),
    }),
  })
}
