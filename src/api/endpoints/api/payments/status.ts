import { receivedDecimals } from '../../../../domain/gateways.ts'
import { formatAmount } from '../../../../domain/money.ts'
import { listCheckoutPayments } from '../../../../store/rails/checkouts.ts'
import { amountFields } from '../../../../wire/amounts.ts'
import { PaymentStatusSchema } from '../../../../wire/group-b/payments.ts'
import { TransactionParamsSchema } from '../../../../wire/group-b/transactions.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { fieldsOf } from '../fields.ts'
import { readChargeBack, receivedFields, requireOwn, toArrivalWire } from './charges.ts'

export const paymentStatusEndpoint = defineEndpoint({
  route: 'GET /api/payments/{transaction_id}/status',
  operationId: 'getPaymentStatus',
  summary: 'Read the state of a payment',
  tag: 'Payments',
  access: 'payments:read',
  params: TransactionParamsSchema,
  answer: PaymentStatusSchema,
  handle: async ({ params, caller, db }) => {
    const charge = await requireOwn(db, caller.userId, params.transaction_id)
    const { received } = charge
    const decimals = receivedDecimals(charge)
    const arrivals = await listCheckoutPayments(db, [charge.transactionId], MAX_ARRIVALS)
    return {
      success: true as const,
      ...fieldsOf(charge, 'transactionId', 'status', 'currency', 'gatewayStatus', 'errorCode'),
      ...amountFields(charge),
      gateway_reference: charge.externalId ?? null,
      received_decimal:
        received === undefined ? null : formatAmount({ amount: received, decimals }),
      ...receivedFields(charge),
      arrivals: arrivals.map(toArrivalWire),
      ...(await readChargeBack(db, charge)),
    }
  },
})

const MAX_ARRIVALS = 300
