import { actorOf, type Caller } from '../../../../domain/access.ts'
import { dueOf, receivedDecimals } from '../../../../domain/gateways.ts'
import { formatAmount } from '../../../../domain/money.ts'
import type { Db } from '../../../../store/database/database.ts'
import {
  findCharge,
  findCharges,
  learnCharge,
  lockCharge,
  type Charge,
} from '../../../../store/rails/charges.ts'
import { noteClosing } from '../../../../store/rails/checkout-closings.ts'
import {
  listCheckoutPayments,
  listUndecided,
  type ListedPayment,
} from '../../../../store/rails/checkouts.ts'
import { moveTransaction } from '../../../../store/transactions/transactions.ts'
import { amountFields } from '../../../../wire/amounts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  DecidedPaymentSchema,
  DecisionSchema,
  UndecidedListQuerySchema,
  UndecidedListSchema,
  type UndecidedPayment,
} from '../../../../wire/group-b/decisions.ts'
import { TransactionParamsSchema } from '../../../../wire/group-b/transactions.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { fieldsOf } from '../fields.ts'
import { toArrivalWire } from '../payments/charges.ts'
import { ADMINISTRATION } from './administration.ts'

/** Of each payment, the largest. */
const ARRIVALS = 100

export const undecidedListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/payments',
  operationId: 'listUndecidedPayments',
  summary: 'List the crypto checkouts that wait for a decision, oldest first',
  description:
    'Those that are short or late, each with what arrived for it. While one is in time, its page ' +
    'still asks for the remaining amount. With ' +
    '`transaction_id` only that one.',
  query: UndecidedListQuerySchema,
  answer: UndecidedListSchema,
  handle: async ({ query, db }) => {
    const { transaction_id: transactionId, limit } = query
    const ids = await listUndecided(db, { transactionId, limit })
    const charges = new Map((await findCharges(db, ids)).map((one) => [one.transactionId, one]))
    const arrivals = await listCheckoutPayments(db, ids, ARRIVALS)
    const payments = ids.flatMap((id) => {
      const charge = charges.get(id)
      return charge ? undecidedOf(charge, arrivals) : []
    })
    return { success: true as const, payments }
  },
})

export const paymentDecideEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'POST /api/admin/payments/{transaction_id}/decide',
  operationId: 'decidePayment',
  summary: 'Accept what arrived for a crypto checkout, or refuse it',
  description:
    'For a payment that is `processing` because it is short, over or late. A refused payment has ' +
    'failed, and what arrived stays where it is until you send it back.',
  params: TransactionParamsSchema,
  body: DecisionSchema,
  answer: DecidedPaymentSchema,
  failures: ['conflict'],
  handle: async ({ params, body, caller, db }) => {
    // Whatever else arrives waits for the end of this, and is then judged by what was decided.
    const charge = await lockCharge(db, params.transaction_id)
    if (charge === undefined)
      throw new RequestError('not_found', 'No payment has this id. Check it.')
    requireUndecided(charge)
    const seen = receivedOf(charge)
    if (seen !== body.received_decimal) {
      throw new RequestError(
        'conflict',
        `Meanwhile ${seen} has arrived. Read the payment again, then decide.`,
      )
    }
    await decide(db, { charge, caller, ...body })
    const decided = (await findCharge(db, charge.transactionId)) ?? charge
    const arrivals = await listCheckoutPayments(db, [charge.transactionId], ARRIVALS)
    return { success: true as const, ...undecidedOf(decided, arrivals) }
  },
})

function requireUndecided({ kind, status, gatewayStatus, received }: Charge): void {
  if (kind !== 'crypto_checkout') {
    throw new RequestError(
      'conflict',
      'Only crypto checkouts can be decided. Refund another payment instead.',
    )
  }
  if (status !== 'processing' || received === undefined) {
    const sentence = `The payment is ${status} (${gatewayStatus}). There is nothing to decide.`
    throw new RequestError('conflict', sentence)
  }
}

type Decision = {
  charge: Charge
  caller: Caller
  decision: 'accept' | 'refuse'
  note: string
}

async function decide(db: Db, { charge, caller, decision, note }: Decision): Promise<void> {
  const { transactionId, externalId } = charge
  const isAccepted = decision === 'accept'
  if (isAccepted && !charge.received) {
    throw new RequestError(
      'conflict',
      'Nothing arrived in the right coin or token. Refuse the payment.',
    )
  }
  const facts = isAccepted
    ? { gatewayStatus: 'RESOLVED' }
    : { gatewayStatus: 'CANCELED', errorCode: 'payment_refused' }
  await learnCharge(db, transactionId, { externalId, ...facts })
  if (isAccepted) await noteClosing(db, { transactionId, due: dueOf(charge) })
  const due = amountFields(charge).amount_decimal
  const words = `${charge.gatewayStatus}, ${receivedOf(charge)} of ${due} ${charge.currency}`
  await moveTransaction(db, {
    transactionId,
    from: 'processing',
    to: isAccepted ? 'completed' : 'failed',
    actor: actorOf(caller),
    reason: `${isAccepted ? 'accepted' : 'refused'} by hand, ${words}: ${note}`,
  })
}

/** With its own arrivals, selected from those of all charges. */
function undecidedOf(charge: Charge, all: readonly ListedPayment[]): UndecidedPayment {
  const arrivals = all.filter((one) => one.transactionId === charge.transactionId)
  return {
    ...fieldsOf(charge, 'transactionId', 'userId', 'status', 'currency', 'gatewayStatus'),
    ...fieldsOf(charge, 'errorCode', 'expiresAt'),
    ...amountFields(charge),
    received_decimal: receivedOf(charge),
    arrivals: arrivals.map(toArrivalWire),
  }
}

function receivedOf(charge: Charge): string {
  return formatAmount({ amount: charge.received ?? 0n, decimals: receivedDecimals(charge) })
}
