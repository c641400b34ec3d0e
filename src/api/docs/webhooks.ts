import { NOTIFICATION_TYPES, type Notification } from '../../domain/notifications.ts'
import { notificationSchema } from '../../wire/group-a/notifications.ts'
import { examplesOfWebhook } from './examples.ts'

const ABOUT: Record<Notification['type'], string> = {
  payments: 'A payment to a bank account changed',
  transfers: 'A transfer, a mint or a redeem changed',
  chargebacks: 'A payer disputes a card payment, or the dispute changed',
  transactions: 'A transaction of Group B changed',
  batches: 'A batch of payments changed',
  ping: 'A new URL is asked whether it listens',
}

const HEADERS = [
  ['webhook-id', 'The id of the notification, the same at each try.'],
  ['webhook-timestamp', 'When this try was signed, in seconds since 1970.'],
  ['webhook-signature', 'Signatures of Standard Webhooks 1.0, one for each secret that is valid.'],
] as const

/** What subscriptions receive: a POST of each type, with bodies that a platform has delivered. */
export function documentWebhooks(documentSchema: (schema: unknown) => Record<string, unknown>) {
  return Object.fromEntries(
    ([...NOTIFICATION_TYPES, 'ping'] as const).map((type) => {
      const schema = documentSchema(notificationSchema(type))
      const examples = examplesOfWebhook(type)
      const post = {
        operationId: `receive_${type}`,
        summary: ABOUT[type],
        tags: ['Webhooks'],
        parameters: HEADERS.map(([name, description]) => ({
          name,
          in: 'header',
          required: true,
          description,
          schema: { type: 'string' },
        })),
        requestBody: { required: true, content: { 'application/json': { schema, examples } } },
        responses: { '204': { description: 'Any 2xx status accepts it. Others are tried again.' } },
      }
      return [type, { post }]
    }),
  )
}
