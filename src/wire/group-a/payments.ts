import { Type, type Static } from 'typebox'

import type { Dialect } from '../../domain/access.ts'
import type { Payment } from '../../domain/ledger.ts'
import { namedObject, nullable, requestObject, TimestampSchema, UuidSchema } from '../shapes.ts'
import { IdempotencyKeySchema, pageQuery } from './lists.ts'
import { amountOf, AmountSchema, MONEY_FIELDS, MONEY_INPUT, moneyFields } from './money.ts'
import { WIRE_FIELDS, wireBody } from './places.ts'
import { WalletIdSchema } from './wallets.ts'

const StatusSchema = Type.Enum(['pending', 'confirmed', 'paid', 'failed'])
const EmailSchema = Type.String({
  format: 'email',
  maxLength: 254,
  examples: ['ada@example.com'],
})

export const PaymentCreateSchema = requestObject({
  idempotencyKey: IdempotencyKeySchema,
  ...MONEY_INPUT,
  source: Type.Optional(
    requestObject(
      { type: Type.Literal('wallet'), id: WalletIdSchema },
      { description: 'The wallet that pays. Default: the main wallet.' },
    ),
  ),
  destination: requestObject({
    type: Type.Literal('wire'),
    name: WIRE_FIELDS.name,
    addressLine1: WIRE_FIELDS.addressLine1,
    accountNumber: Type.Optional(WIRE_FIELDS.accountNumber),
    routingNumber: Type.Optional(WIRE_FIELDS.routingNumber),
    id: Type.Optional(WIRE_FIELDS.id),
  }),
  metadata: Type.Optional(requestObject({ beneficiaryEmail: Type.Optional(EmailSchema) })),
})

export const PaymentListQuerySchema = requestObject({
  status: Type.Optional(StatusSchema),
  ...pageQuery(UuidSchema),
})

export const PaymentParamsSchema = requestObject({ payment_id: UuidSchema })

export const PaymentSchema = namedObject('Payment', {
  id: UuidSchema,
  type: Type.Literal('payment'),
  merchantId: Type.String({ examples: ['3'] }),
  merchantWalletId: WalletIdSchema,
  ...MONEY_FIELDS,
  destination: Type.Object({
    type: Type.Literal('wire'),
    name: Type.Optional(WIRE_FIELDS.name),
    addressLine1: Type.Optional(WIRE_FIELDS.addressLine1),
    accountNumber: Type.Optional(WIRE_FIELDS.accountNumber),
    routingNumber: Type.Optional(WIRE_FIELDS.routingNumber),
    id: Type.Optional(WIRE_FIELDS.id),
  }),
  status: StatusSchema,
  fees: AmountSchema,
  trackingRef: nullable(Type.String({ description: 'The reference of the bank.' })),
  errorCode: nullable(
    Type.String({ description: 'Why it failed.', examples: ['payment_returned'] }),
  ),
  metadata: Type.Object({ beneficiaryEmail: Type.Optional(EmailSchema) }),
  createDate: TimestampSchema,
  updateDate: TimestampSchema,
})

export const PaymentAnswerSchema = Type.Object({ data: PaymentSchema })
export const PaymentListSchema = Type.Object({ data: Type.Array(PaymentSchema) })

export function paymentBody(payment: Payment, dialect: Dialect): Static<typeof PaymentSchema> {
  const { beneficiaryEmail, currency } = payment
  return {
    id: payment.id,
    type: 'payment',
    merchantId: String(payment.userId),
    merchantWalletId: String(payment.walletId),
    ...moneyFields(payment, dialect),
    destination: wireBody(payment.destination),
    status: payment.status,
    fees: amountOf({ amount: 0n, currency }, dialect),
    trackingRef: payment.trackingRef ?? null,
    errorCode: payment.errorCode ?? null,
    metadata: beneficiaryEmail === undefined ? {} : { beneficiaryEmail },
    createDate: payment.createdAt.toISOString(),
    updateDate: payment.updatedAt.toISOString(),
  }
}
