import { Type, type Static } from 'typebox'

import { AMOUNT_FIELDS, CurrencySchema } from '../amounts.ts'
import { namedAnswer, namedObject, nullable, requestObject, TimestampSchema } from '../shapes.ts'
import { ArrivalSchema } from './charges.ts'
import { TransactionIdSchema, TransactionStatusSchema } from './transactions.ts'

const ReceivedSchema = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  maxLength: 80,
  examples: ['99.5'],
})

const DECIDED_FIELDS = {
  transaction_id: TransactionIdSchema,
  user_id: Type.Integer({ examples: [3] }),
  status: TransactionStatusSchema,
  ...AMOUNT_FIELDS,
  currency: CurrencySchema,
  gateway_status: nullable(Type.String({ examples: ['UNDERPAID'] })),
  error_code: nullable(Type.String({ examples: ['payment_refused'] })),
  received_decimal: Type.Unsafe<string>({
    ...ReceivedSchema,
    description: 'What arrived in the right coin or token, in time and late.',
  }),
  expires_at: nullable(TimestampSchema),
  arrivals: Type.Array(ArrivalSchema, {
    description:
      'Oldest first; if there are more than 100, the largest in the right coin or token.',
  }),
}

export const UndecidedPaymentSchema = namedObject('UndecidedPayment', DECIDED_FIELDS)
export type UndecidedPayment = Static<typeof UndecidedPaymentSchema>

export const UndecidedListQuerySchema = requestObject({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, examples: [50] }),
  transaction_id: Type.Optional(TransactionIdSchema),
})

export const UndecidedListSchema = namedAnswer('UndecidedPaymentList', {
  payments: Type.Array(UndecidedPaymentSchema),
})

export const DecisionSchema = requestObject({
  decision: Type.Enum(['accept', 'refuse'], {
    description: 'An accepted payment is completed, and a refused payment has failed.',
    examples: ['accept'],
  }),
  received_decimal: Type.Unsafe<string>({
    ...ReceivedSchema,
    description: 'The amount that you saw. If more arrived since, nothing is decided.',
  }),
  note: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'The reason. It is in the history of the transaction, which its user can read.',
    examples: ['The exchange kept its fee, see ticket 4711.'],
  }),
})

export const DecidedPaymentSchema = namedAnswer('DecidedPayment', { ...DECIDED_FIELDS })
