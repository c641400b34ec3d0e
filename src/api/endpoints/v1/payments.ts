import { actorOf } from '../../../domain/access.ts'
import { CURRENCY_DECIMALS, LEDGER_DECIMALS } from '../../../domain/money.ts'
import { spendAmount } from '../../../domain/spending.ts'
import { createPayment } from '../../../ledger/bank-payments.ts'
import type { LedgerContext } from '../../../ledger/context.ts'
import { findPayment, listPayments } from '../../../store/ledger/bank-payments.ts'
import { spend } from '../../../store/orders/spending.ts'
import { readMoney } from '../../../wire/group-a/money.ts'
import {
  PaymentAnswerSchema,
  paymentBody,
  PaymentCreateSchema,
  PaymentListQuerySchema,
  PaymentListSchema,
  PaymentParamsSchema,
} from '../../../wire/group-a/payments.ts'
import { requireBothNumbers } from '../../../wire/group-a/places.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { LIMIT_REFUSALS } from '../../admission/refusals.ts'
import { readPage } from '../lists.ts'
import { wireMove } from './moves.ts'
import { answeringFunds, notFound, requireBank, sourceWallet, type PayingBank } from './sides.ts'

export function bankPaymentEndpoints(deps: {
  ledger: LedgerContext
  bank: PayingBank
}): Endpoint[] {
  return [paymentCreate(deps), paymentRead, paymentList]
}

function paymentCreate({ ledger, bank }: { ledger: LedgerContext; bank: PayingBank }): Endpoint {
  return defineEndpoint({
    route: 'POST /v1/payments',
    operationId: 'createPayment',
    summary: 'Pay from a wallet to a bank account by wire',
    description:
      'The money is held at once. When the bank accepts the wire, the payment is `confirmed`; ' +
      'when the wire is paid, `paid`. If the bank refuses or returns it, the payment is ' +
      '`failed` and the money returns to the wallet.',
    tag: 'Payments',
    access: 'payments:write',
    body: PaymentCreateSchema,
    status: 201,
    answer: PaymentAnswerSchema,
    failures: ['insufficient_funds', 'limit_exceeded', 'not_found', 'bank_not_configured'],
    refusals: LIMIT_REFUSALS,
    moves: ({ body, caller }) => [
      wireMove({ caller, money: readMoney(body, CENTS), destination: body.destination }),
    ],
    handle: async ({ body, caller, db }) => {
      requireBank(bank)
      const money = readMoney(body, CENTS)
      const { type: _, ...destination } = body.destination
      requireBothNumbers(destination)
      const wallet = await sourceWallet(db, { caller, id: body.source?.id, money })
      await spend(db, {
        spender: actorOf(caller),
        way: 'wire',
        currency: money.currency,
        payee: undefined,
        amount: spendAmount({ amount: money.amount, decimals: LEDGER_DECIMALS }),
        now: ledger.clock.now(),
      })
      const payment = await answeringFunds(() =>
        createPayment(ledger, db, {
          userId: caller.userId,
          walletId: wallet.id,
          ...money,
          destination,
          beneficiaryEmail: body.metadata?.beneficiaryEmail,
        }),
      )
      return { data: paymentBody(payment, caller.dialect) }
    },
    // The wire is sent soon; it is sent without it, too.
    ...(bank && { onCommitted: bank.kick }),
  })
}

/** A bank is a side, and moves no less than a cent. */
const CENTS = { decimals: CURRENCY_DECIMALS.USD }

const paymentRead = defineEndpoint({
  route: 'GET /v1/payments/{payment_id}',
  operationId: 'getPayment',
  summary: 'Read a payment',
  tag: 'Payments',
  access: 'payments:read',
  params: PaymentParamsSchema,
  unknown: () => notFound('payment', 1051),
  answer: PaymentAnswerSchema,
  handle: async ({ params, caller, db }) => {
    const payment = await findPayment(db, { userId: caller.userId, id: params.payment_id })
    if (!payment) throw notFound('payment', 1051)
    return { data: paymentBody(payment, caller.dialect) }
  },
})

const paymentList = defineEndpoint({
  route: 'GET /v1/payments',
  operationId: 'listPayments',
  summary: 'List your payments, newest first',
  tag: 'Payments',
  access: 'payments:read',
  query: PaymentListQuerySchema,
  answer: PaymentListSchema,
  handle: async ({ query, caller, db }) => {
    const { userId, dialect } = caller
    const page = await readPage(query, async (id) => (await findPayment(db, { userId, id }))?.seq)
    const payments = await listPayments(db, { userId, status: query.status }, page)
    return { data: payments.map((payment) => paymentBody(payment, dialect)) }
  },
})
