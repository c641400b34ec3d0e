import { createId, type RandomBytes } from '../../domain/ids.ts'
import { refundableOf } from '../../domain/gateways.ts'
import type { Currency } from '../../domain/money.ts'
import type { Hex } from '../../domain/orders.ts'
import { refundReference, type Reference } from '../../domain/reference.ts'
import { lockCharge, type Charge } from '../../store/charges.ts'
import type { Db } from '../../store/database.ts'
import { insertRefund, listRefunds } from '../../store/refunds.ts'
import { recordTransaction } from '../../store/transactions.ts'
import { amountFields } from '../../wire/amounts.ts'
import { RequestError } from '../../wire/errors.ts'
import { RefundCreatedSchema, RefundCreateSchema } from '../../wire/group-b/payments.ts'
import { TransactionParamsSchema } from '../../wire/group-b/transactions.ts'
import { invalidRequest } from '../checks.ts'
import { defineEndpoint, type Endpoint } from '../endpoint.ts'
import { answering } from './blockchain-payments.ts'
import { requireOwn } from './payment-checks.ts'

/** Pays from the address to which our own checkout was paid. */
export type PayBack = {
  /**
   * Asks the chain what the payment takes, outside of any transaction, or rejects. What it resolves
   * to accepts the order in the open transaction, or rejects with nothing stored.
   */
  prepare: (db: Db, payment: BackPayment) => Promise<AcceptBack>
  /** What is accepted is sent soon even without it. */
  kick: () => void
}

export type BackPayment = {
  subject: string
  spender: string
  payee: Hex
  /** Ether, or dollars by the dollar token. */
  currency: Currency
  /** In the smallest unit of the currency. */
  amount: bigint
  reference: Reference
}

type AcceptBack = (db: Db) => Promise<{ hash: Hex }>

type Deps = {
  desk: { payBack?: PayBack | undefined; kick: () => void }
  randomBytes: RandomBytes
}

/** What the chain was asked for before anything is stored. */
type PreparedRefund = { transactionId: string; amount: bigint; accept: AcceptBack }

export function refundEndpoint({ desk, randomBytes }: Deps): Endpoint {
  const { payBack } = desk
  return defineEndpoint({
    group: 'b',
    method: 'POST',
    path: '/api/payments/{transaction_id}/refund',
    operationId: 'refundPayment',
    summary: 'Sends the whole of a completed payment back',
    description:
      'The payment is `refunded` when the money has arrived. There is one refund of it, unless ' +
      'it fails. A gateway sends the money to its payer. What came at the crypto checkout goes ' +
      'to the `to_address` that you name, in the coin that it came in, by a payment through the ' +
      'settlement contract.',
    tag: 'Payments',
    access: 'payments:write',
    params: TransactionParamsSchema,
    body: RefundCreateSchema,
    isBodyOptional: true,
    status: 201,
    answer: RefundCreatedSchema,
    failures: ['conflict', 'insufficient_funds', 'limit_exceeded', 'payment_would_fail'],
    prepare: async ({ params, body, caller, db }) => {
      const charge = await requireOwn(db, caller.userId, params.transaction_id)
      requireCompleted(charge)
      const payee = body?.to_address as Hex | undefined
      if (charge.kind === 'crypto_checkout') {
        return prepareOnChain({ payBack, randomBytes, db, charge, payee })
      }
      if (payee === undefined) return undefined
      const message = 'The gateway sends the money back to its payer. Leave it out.'
      throw invalidRequest([{ field: 'to_address', code: 'unknown_field', message }])
    },
    handle: async ({ params, caller, db, prepared }) => {
      await requireOwn(db, caller.userId, params.transaction_id)
      // Another refund, and whatever still comes on the chain, waits for the end of this.
      const charge = await lockCharge(db, params.transaction_id)
      if (charge === undefined) throw new RequestError('not_found', 'There is no such payment.')
      requireCompleted(charge)
      const { transactionId, currency } = charge
      const refundId = createId('REF', randomBytes)
      const externalId = prepared?.transactionId
      if (!(await insertRefund(db, { refundId, transactionId, externalId }))) throw isOnItsWay()
      if (prepared) await acceptOnChain({ db, charge, prepared })
      return {
        success: true as const,
        transaction_id: transactionId,
        refund_id: refundId,
        status: 'pending' as const,
        ...(externalId !== undefined && { refund_transaction_id: externalId }),
        ...amountFields({ amount: prepared?.amount ?? charge.amount, currency }),
        currency,
      }
    },
    onCommitted: () => {
      desk.kick()
      payBack?.kick()
    },
  })
}

function requireCompleted({ status }: Charge): void {
  if (status === 'completed') return
  const sentence = `The payment is ${status}. Only one that is completed can be refunded.`
  throw new RequestError('conflict', sentence)
}

function isOnItsWay(): RequestError {
  return new RequestError('conflict', 'The payment is being refunded. Read its status.')
}

async function prepareOnChain(facts: {
  payBack: PayBack | undefined
  randomBytes: RandomBytes
  db: Db
  charge: Charge
  payee: Hex | undefined
}): Promise<PreparedRefund> {
  const { payBack, db, charge, payee } = facts
  const { currency, reference, userId } = charge
  const amount = refundableOf(charge)
  if (payBack === undefined || amount === 0n || reference === undefined) {
    const sentence = 'This payment on chain is sent back by a payment of yours, not by us.'
    throw new RequestError('conflict', sentence)
  }
  if (payee === undefined) {
    const message = 'Name the address that gets the money back.'
    throw invalidRequest([{ field: 'to_address', code: 'required', message }])
  }
  const earlier = await listRefunds(db, charge.transactionId)
  if (earlier.some(({ state }) => state !== 'failed')) throw isOnItsWay()
  const transactionId = createId('TX', facts.randomBytes)
  const accept = await answering(async () =>
    payBack.prepare(db, {
      subject: transactionId,
      spender: `user:${userId}`,
      payee,
      currency,
      amount,
      // The contract pays a reference once, so that a refund after one that failed has another.
      reference: earlier.reduce((last) => refundReference(last), refundReference(reference)),
    }),
  )
  return { transactionId, amount, accept }
}

/** The order, its transaction and the refund are stored together, or none of them is. */
async function acceptOnChain(facts: {
  db: Db
  charge: Charge
  prepared: PreparedRefund
}): Promise<void> {
  const { db, charge, prepared } = facts
  const { transactionId, amount, accept } = prepared
  if (refundableOf(charge) !== amount) {
    throw new RequestError('conflict', 'More has come for it meanwhile. Send the request again.')
  }
  const { hash } = await answering(() => accept(db))
  await recordTransaction(db, {
    transactionId,
    userId: charge.userId,
    type: 'settlement',
    amount,
    currency: charge.currency,
    description: `refund of ${charge.transactionId}`,
    ethTransactionHash: hash,
    actor: `user:${charge.userId}`,
    reason: 'signed and on its way',
  })
}
