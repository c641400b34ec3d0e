import { Type, type Static, type TOptional, type TString } from 'typebox'

import {
  GATEWAY_KINDS,
  GATEWAYS,
  type GatewayKind,
  type Payer,
  type PayerFieldName,
} from '../../base/parties.ts'
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
  description: 'A gateway of `GET /api/gateways`.',
  examples: [1],
})

/** Words of the caller's own, such as `order_id` and `customer_name`; the gateway keeps them. */
export const MetadataSchema = Type.Record(METADATA_KEY, METADATA_WORD, {
  maxProperties: 50,
  // A key of another form would fit no pattern, and pass with any value.
  additionalProperties: false,
  description: 'Up to 50 values of your own, such as `order_id` and `customer_name`.',
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
    description: 'Crypto checkout: the chain on which it is paid. Default: the default chain.',
  }),
  amount: AmountInputSchema,
  currency: CurrencySchema,
  description: DescriptionSchema,
  metadata: Type.Optional(MetadataSchema),
})
export type PaymentCreate = Static<typeof PaymentCreateSchema>

/** With what the gateways that a program brings tell the payer. */
export function paymentCreatedSchema(gateways: ReadonlyArray<{ payer: Payer }>) {
  return namedAnswer('PaymentCreated', {
    transaction_id: TransactionIdSchema,
    status: TransactionStatusSchema,
    ...payerFields(gateways),
  })
}
export type PaymentCreated = Static<ReturnType<typeof paymentCreatedSchema>>

/** A name that we use ourselves keeps our words. */
function payerFields(gateways: ReadonlyArray<{ payer: Payer }>) {
  const payers = [...gateways, ...Object.values(GATEWAYS)].map(({ payer }) => payer)
  const fields: Payer = Object.fromEntries(payers.flatMap((payer) => Object.entries(payer)))
  return Object.fromEntries(
    Object.entries(fields).map(([name, { description, format, example }]) => {
      const about = { description, ...(format && { format }), examples: [example] }
      return [name, Type.Optional(Type.String(about))]
    }),
  ) as Record<PayerFieldName, TOptional<TString>>
}

export const PaymentStatusSchema = namedAnswer('PaymentStatus', {
  transaction_id: TransactionIdSchema,
  status: TransactionStatusSchema,
  ...AMOUNT_FIELDS,
  currency: CurrencySchema,
  gateway_reference: nullable(
    Type.String({
      description: 'The id at the gateway; null until the gateway has answered.',
      examples: ['pi_3MtwBwLkdIwHu7ix28a3tqPa'],
    }),
  ),
  gateway_status: nullable(
    Type.String({
      description: 'The status as the gateway calls it.',
      examples: ['requires_action'],
    }),
  ),
  error_code: nullable(Type.String({ description: 'Why it failed.', examples: ['card_declined'] })),
  received_decimal: nullable(
    Type.String({
      description:
        'Crypto checkout: the amount that has arrived, which can be less or more than is due.',
      examples: ['99.5'],
    }),
  ),
  remaining_decimal: nullable(
    Type.String({
      description:
        'Crypto checkout: the remaining amount. Its page asks for this amount while it is in time.',
      examples: ['0.5'],
    }),
  ),
  overpaid_decimal: nullable(
    Type.String({
      description: 'Crypto checkout: the surplus. Refunds return it.',
      examples: ['0'],
    }),
  ),
  arrivals: Type.Array(ArrivalSchema, {
    description:
      'Crypto checkout: every settlement that names it, oldest first; of more than 300, the ' +
      'largest in the right coin or token.',
  }),
  ...CHARGE_BACK_FIELDS,
})
export type PaymentStatus = Static<typeof PaymentStatusSchema>

export const RefundCreateSchema = requestObject({
  amount: Type.Optional({
    ...AmountInputSchema,
    description: 'In the currency of the payment. Default: the amount that is not refunded yet.',
  }),
  to_address: Type.Optional({
    ...EthereumAddressSchema,
    description:
      'Crypto checkout: the address that receives the refund. Ask the customer: the payer on the ' +
      'chain can be an exchange or a contract. If its case is mixed, its checksum (EIP-55) is verified.',
  }),
  payer: Type.Optional({
    ...EthereumAddressSchema,
    description:
      'Crypto checkout: the payer whose payment is refunded, one of its `arrivals`, with at most ' +
      'what that payer has paid. Default: `to_address`, if it has paid.',
  }),
})

export type RefundCreate = Static<typeof RefundCreateSchema>

export const RefundCreatedSchema = namedAnswer('RefundCreated', {
  transaction_id: TransactionIdSchema,
  ...REFUND_FIELDS,
  refund_transaction_id: Type.Optional({
    ...TransactionIdSchema,
    description: 'Crypto checkout: the transaction that pays the refund on the chain.',
  }),
  ...AMOUNT_FIELDS,
  currency: CurrencySchema,
})
export type RefundCreated = Static<typeof RefundCreatedSchema>

/** With the kinds of the gateways that a program brings. */
export function gatewayListSchema<const Kind extends string>(
  gateways: ReadonlyArray<{ kind: Kind }>,
) {
  const kinds = new Set([...GATEWAY_KINDS, ...gateways.map(({ kind }) => kind)])
  return namedAnswer('GatewayList', {
    gateways: Type.Array(
      Type.Object({
        gateway_id: GatewayIdSchema,
        kind: Type.Enum([...kinds]),
        currencies: Type.Array(CurrencySchema),
      }),
    ),
  })
}
export type GatewayList = Static<ReturnType<typeof gatewayListSchema<GatewayKind>>>
