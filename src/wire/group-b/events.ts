import { Type, type Static } from 'typebox'

import {
  EthereumHashSchema,
  int64,
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
} from '../shapes.ts'
import { TransactionIdSchema, TransactionStatusSchema } from './transactions.ts'

/** Digits rather than a number, since the log may outgrow what a double counts. */
const CursorSchema = Type.String({
  pattern: '^[0-9]{0,18}$',
  default: '',
  description:
    'The `next_after` of the previous page. Without it, or with 0, the oldest event is first.',
  examples: ['1024'],
})

export const EventListQuerySchema = requestObject({
  after: CursorSchema,
  limit: ListLimitSchema,
})
/** What an event tells, in lists and in streams. */
export const EVENT_FIELDS = {
  type: Type.String({
    description:
      '`transaction.` and the new status; `transaction.created`; `transaction.partly_refunded` ' +
      'when a part of a payment was returned, and the payment stays `completed`; ' +
      '`transaction.break_opened`, `break_closed`, `alert_opened` and `alert_closed`, with its ' +
      'kind as the reason, when `disputed_by` changes. `batch.completed`, `partly_completed` or ' +
      '`failed` when the last payment of a batch is final.',
    examples: ['transaction.created', 'transaction.completed'],
  }),
  transaction_id: nullable(TransactionIdSchema),
  batch_id: nullable(Type.String({ examples: ['BAT04419271330985127764'] })),
  status: TransactionStatusSchema,
  previous_status: nullable(TransactionStatusSchema),
  reason: nullable(Type.String({ examples: ['insufficient_funds'] })),
  /** Of the transaction on the chain that it showed then; a batch has none. */
  eth_transaction_hash: nullable(EthereumHashSchema),
  created_at: TimestampSchema,
}

export const EventSchema = namedObject('Event', {
  id: int64({
    description:
      'The id of the event. Events are in the order of the log, which is mostly the order of ids.',
    examples: [1025],
  }),
  ...EVENT_FIELDS,
})
/** An event in a webhook, which has an id of its own. */
export const EventFieldsSchema = namedObject('EventFields', EVENT_FIELDS)
export type EventWire = Static<typeof EventSchema>

export const EventListSchema = namedAnswer('EventList', {
  events: Type.Array(EventSchema, { maxItems: LIST_LIMIT_MAX }),
  next_after: Type.String({
    description: 'Send this as `after` next time. It stays the same while nothing is new.',
    pattern: '^[0-9]{1,19}$',
    examples: ['1025'],
  }),
  has_more: Type.Boolean(),
})

/** The fields of an event in lists, streams and webhooks. */
export function eventFields<Data extends object>(event: {
  type: string
  subject: string
  data: Data
  createdAt: Date
}) {
  const { type, subject, data, createdAt } = event
  const isOfBatch = type.startsWith('batch.')
  return {
    type,
    transaction_id: isOfBatch ? null : subject,
    batch_id: isOfBatch ? subject : null,
    eth_transaction_hash: null,
    ...data,
    created_at: createdAt.toISOString(),
  }
}
