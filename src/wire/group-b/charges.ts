import { Type, type Static } from 'typebox'

import { AMOUNT_FIELDS } from '../amounts.ts'
import {
  EthereumAddressSchema,
  EthereumHashSchema,
  int64,
  namedObject,
  nullable,
  TimestampSchema,
} from '../shapes.ts'

export const ArrivalSchema = namedObject('CheckoutArrival', {
  eth_transaction_hash: EthereumHashSchema,
  log_index: Type.Integer({
    description: 'The place of its event in the block.',
    examples: [3],
  }),
  block_number: int64({ examples: [21_925_176] }),
  reference: Type.Unsafe<string>({
    ...EthereumHashSchema,
    description: 'The reference of the payment, or the one for a further part of it.',
  }),
  payer: EthereumAddressSchema,
  token: nullable(EthereumAddressSchema),
  amount_units: Type.String({
    description: 'In the smallest unit of the coin or token.',
    examples: ['99500000'],
  }),
  amount_decimal: nullable(
    Type.String({
      description: 'The same in coins or dollars; null for an unknown token.',
      examples: ['99.5'],
    }),
  ),
  currency: nullable(
    Type.String({
      description: 'The coin of the chain, or USD; null for an unknown token.',
      examples: ['USD'],
    }),
  ),
  verdict: Type.Enum(['counted', 'late', 'wrong_token']),
  paid_at: TimestampSchema,
})
export type ArrivalWire = Static<typeof ArrivalSchema>

export const DisputeSchema = namedObject('Dispute', {
  dispute_id: Type.String({ examples: ['dp_1MtwBwLkdIwHu7ix28a3tqPa'] }),
  status: Type.String({ examples: ['needs_response'] }),
  reason: Type.String({ examples: ['fraudulent'] }),
  ...AMOUNT_FIELDS,
  history: Type.Array(Type.Object({ status: Type.String(), created_at: TimestampSchema }), {
    description: 'Every status so far, oldest first.',
  }),
})

export const REFUND_FIELDS = {
  refund_id: Type.String({ examples: ['REF04419271330985127764'] }),
  status: Type.Enum(['pending', 'completed', 'failed']),
}

export const RefundSchema = namedObject('Refund', {
  ...REFUND_FIELDS,
  ...AMOUNT_FIELDS,
  payer: nullable(
    Type.Unsafe<string>({
      ...EthereumAddressSchema,
      description: 'Crypto checkout: the payer whose payment is refunded; null if none is named.',
    }),
  ),
  error_code: nullable(
    Type.String({ description: 'Why it failed.', examples: ['expired_or_canceled_card'] }),
  ),
  created_at: TimestampSchema,
})

/** What goes back of a payment, and what is disputed: in its status and in its detail. */
export const CHARGE_BACK_FIELDS = {
  refunded_decimal: Type.String({
    description:
      'The amount that was returned. The payment stays completed until all of it is returned.',
    examples: ['0'],
  }),
  refunds: Type.Array(RefundSchema, {
    description: 'Oldest first. All that have not failed are together at most the payment.',
  }),
  disputes: Type.Array(DisputeSchema),
}

const ChargeBackSchema = Type.Object(CHARGE_BACK_FIELDS)
export type ChargeBackWire = Static<typeof ChargeBackSchema>
