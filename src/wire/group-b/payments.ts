import { Type, type Static, type TOptional, type TString } from 'typebox'

import { GATEWAY_KINDS, GATEWAYS, type PayerFieldName } from '../../base/parties.ts'
import { AMOUNT_FIELDS, AmountInputSchema, CurrencySchema } from '../amounts.ts'
import {
  EthereumAddressSchema,
  namedAnswer,
  nullable,
  requestObject,
  ChainNameSchema,
} from '../shapes.ts'
import { ArrivalSchema, CHARGE_BACK_FIELDS, REFUND_FIELDS } from './charges.ts'
import {
  METADATA_KEY,
  METADATA_WORD,
  TransactionIdSchema,
  TransactionStatusSchema,
} from './transactions.ts'

export const GatewayIdSchema = Type.Integer({
  minimum: 1,
  description: 'One of those that `GET /api/gateways` lists.',
  examples: [1],
})

/** Words of the caller's own, such as `order_id` and `customer_name`; the gateway keeps them. */
export const MetadataSchema = Type.Record(METADATA_KEY, METADATA_WORD, {
  maxProperties: 50,
  // A key of another form would fit no pattern, and pass with any value.
  additionalProperties: false,
  description: 'Up to 50 words of your own, such as `order_id` and `customer_name`.',
  examples: [{ order_id: '2025-014', customer_name: 'Ada Lovelace' }],
})

export const DescriptionSchema = Type.String({
  minLength: 1,
  maxLength: 512,
  examples: ['Invoice 2025-014'],
})

export const PaymentCreateSchema = requestObject({
  gateway_id: GatewayIdSchema,
  chain: Type.Optional({
    ...ChainNameSchema,
    description: 'Crypto checkout: where it is paid; on the default chain where it is absent.',
  }),
  amount: AmountInputSchema,
  currency: CurrencySchema,
  description: DescriptionSchema,
  metadata: Type.Optional(MetadataSchema),
})
export type PaymentCreate = Static<typeof PaymentCreateSchema>

const PAYER_FIELDS = Object.fromEntries(
  Object.values(GATEWAYS).flatMap(({ payer }) =>
    Object.entries(payer).map(([name, { description, format, example }]) => {
      const about = { description, ...(format && { format }), examples: [example] }
      return [name, Type.Optional(Type.String(about))]
    }),
  ),
) as Record<PayerFieldName, TOptional<TString>>

export const PaymentCreatedSchema = namedAnswer('PaymentCreated', {
  transaction_id: TransactionIdSchema,
  status: TransactionStatusSchema,
  ...PAYER_FIELDS,
})
export type PaymentCreated = Static<typeof PaymentCreatedSchema>

export const PaymentStatusSchema = namedAnswer('PaymentStatus', {
  transaction_id: TransactionIdSchema,
  status: TransactionStatusSchema,
  ...AMOUNT_FIELDS,
  currency: CurrencySchema,
  gateway_reference: nullable(
    Type.String({
      description: 'What the gateway calls it; null until it has answered.',
      examples: ['pi_3MtwBwLkdIwHu7ix28a3tqPa'],
    }),
  ),
  gateway_status: nullable(
    Type.String({
      description: 'The word of the gateway itself.',
      examples: ['requires_action'],
    }),
  ),
  error_code: nullable(Type.String({ description: 'Why it failed.', examples: ['card_declined'] })),
  received_decimal: nullable(
    Type.String({
      description: 'Crypto checkout: what has arrived, which may be less or more than is due.',
      examples: ['99.5'],
    }),
  ),
  remaining_decimal: nullable(
    Type.String({
      description: 'Crypto checkout: what is missing. Its page asks for this while it is in time.',
      examples: ['0.5'],
    }),
  ),
  overpaid_decimal: nullable(
    Type.String({
      description: 'Crypto checkout: what has arrived beyond what is due; refunds send it back.',
      examples: ['0'],
    }),
  ),
  arrivals: Type.Array(ArrivalSchema, {
    description:
      'Crypto checkout: every settlement that names it, oldest first; of more than 300, the ' +
      'largest in the right coin.',
  }),
  ...CHARGE_BACK_FIELDS,
})
export type PaymentStatus = Static<typeof PaymentStatusSchema>

export const RefundCreateSchema = requestObject({
  amount: Type.Optional({
    ...AmountInputSchema,
    description: 'In the currency of the payment; absent for all that has not gone back yet.',
  }),
  to_address: Type.Optional({
    ...EthereumAddressSchema,
    description:
      'Crypto checkout: who gets the money back. Ask the customer, since whoever paid on the ' +
      'chain may be an exchange or a contract. Checked by EIP-55 when its case is mixed.',
  }),
  payer: Type.Optional({
    ...EthereumAddressSchema,
    description:
      'Crypto checkout: whose payment goes back, one of the payers of its `arrivals`; at most ' +
      'what that payer has paid. Absent, it is the `to_address` if that has paid.',
  }),
})

export type RefundCreate = Static<typeof RefundCreateSchema>

export const RefundCreatedSchema = namedAnswer('RefundCreated', {
  transaction_id: TransactionIdSchema,
  ...REFUND_FIELDS,
  refund_transaction_id: Type.Optional({
    ...TransactionIdSchema,
    description: 'Crypto checkout: the transaction of yours that pays it back on the chain.',
  }),
  ...AMOUNT_FIELDS,
  currency: CurrencySchema,
})
export type RefundCreated = Static<typeof RefundCreatedSchema>

export const GatewayListSchema = namedAnswer('GatewayList', {
  gateways: Type.Array(
    Type.Object({
      gateway_id: GatewayIdSchema,
      kind: Type.Enum([...GATEWAY_KINDS]),
      currencies: Type.Array(CurrencySchema),
    }),
  ),
})
export type GatewayList = Static<typeof GatewayListSchema>
