import type { Clock } from '../../../../base/clock.ts'
import { checksummed } from '../../../../chain/hex.ts'
import { actorOf } from '../../../../domain/access.ts'
import { refundableOf } from '../../../../domain/gateways.ts'
import { createId, type RandomBytes } from '../../../../domain/ids.ts'
import { CURRENCY_DECIMALS, type Currency } from '../../../../domain/money.ts'
import type { Hex } from '../../../../domain/orders.ts'
import { refundReference, type Reference } from '../../../../domain/reference.ts'
import { spendAmount } from '../../../../domain/spending.ts'
import type { Db } from '../../../../store/database/database.ts'
import { spend } from '../../../../store/orders/spending.ts'
import { lockCharge, type Charge } from '../../../../store/rails/charges.ts'
import { sumByPayer } from '../../../../store/rails/checkouts.ts'
import { hasLostDispute } from '../../../../store/rails/disputes.ts'
import {
  areRefundsFrozen,
  insertRefund,
  sumPayerRefunds,
  sumRefunds,
  type RefundSums,
} from '../../../../store/rails/refunds.ts'
import { recordTransaction } from '../../../../store/transactions/transactions.ts'
import { amountFields, decimalOf, readAmount } from '../../../../wire/amounts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  RefundCreatedSchema,
  RefundCreateSchema,
  type RefundCreate,
} from '../../../../wire/group-b/payments.ts'
import { TransactionParamsSchema } from '../../../../wire/group-b/transactions.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import type { Move } from '../../../admission/screen.ts'
import type { Chains } from '../../../chains.ts'
import { PAYMENT_REFUSALS } from '../blockchain/payments.ts'
import { requireChargeOf } from './charges.ts'

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
  chains: Chains
  desk: { payBacks: () => ReadonlyMap<number, PayBack>; kick: () => void }
  randomBytes: RandomBytes
  clock: Clock
}

/** What the chain was asked for before anything is stored. */
type PreparedRefund = {
  transactionId: string
  chainId: number | undefined
  amount: bigint
  payee: Hex
  /** How many refunds there were before it. */
  earlier: number
  accept: AcceptBack
}

const FAILURES = [
  'conflict',
  'insufficient_funds',
  'limit_exceeded',
  'payment_would_fail',
  'operator_needed',
  'signer_unavailable',
] as const

export function refundEndpoint({ chains, desk, randomBytes, clock }: Deps): Endpoint {
  return defineEndpoint({
    route: 'POST /api/payments/{transaction_id}/refund',
    operationId: 'refundPayment',
    summary: 'Refund a completed payment, in full or in part',
    description:
      'Without `amount`, it returns everything that is left. There can be several refunds, ' +
      'together at most the payment. It stays `completed` after a partial refund, and is ' +
      '`refunded` when all of it is returned. A gateway pays back its payer. What was paid ' +
      'at the crypto checkout goes to your `to_address`, in the coin or token that was ' +
      'paid, through the settlement contract. If several have paid, `payer` names the one ' +
      'whose payment is refunded, at most what that payer has paid. An administrator refunds any ' +
      'payment, within the limits of its user.',
    tag: 'Payments',
    access: 'payments:write',
    params: TransactionParamsSchema,
    body: RefundCreateSchema,
    isBodyOptional: true,
    status: 201,
    answer: RefundCreatedSchema,
    failures: FAILURES,
    refusals: PAYMENT_REFUSALS,
    prepare: async ({ params, body, caller, db }) => {
      const charge = await requireChargeOf(db, caller, params.transaction_id)
      await requireRefundable(db, charge)
      if (charge.kind === 'crypto_checkout') {
        return { charge, onChain: await prepareOnChain({ desk, randomBytes, db, charge, body }) }
      }
      const field = (['to_address', 'payer'] as const).find((name) => body?.[name] !== undefined)
      if (field === undefined) return { charge, onChain: undefined }
      const message = 'The gateway sends the money back to its payer. Leave the field out.'
      throw invalidRequest([{ field, code: 'unknown_field', message }])
    },
    moves: ({ body, prepared }) => [moveOf({ chains, body, ...prepared })],
    handle: async ({ params, body, caller, db, prepared: { onChain } }) => {
      await requireChargeOf(db, caller, params.transaction_id)
      // Another refund, and whatever still comes on the chain, waits for the end of this.
      const charge = await lockCharge(db, params.transaction_id)
      if (charge === undefined)
        throw new RequestError('not_found', 'No payment has this id. Check it.')
      await requireRefundable(db, charge)
      const { transactionId, currency } = charge
      const sums = await sumRefunds(db, transactionId)
      const payer = await payerOf(db, { charge, body })
      const amount = requireRest({ charge, sums, payer, body })
      const refundId = createId('REF', randomBytes)
      const externalId = onChain?.transactionId
      const refund = { refundId, transactionId, amount, payer: payer?.payer, externalId }
      await insertRefund(db, refund)
      if (onChain) await acceptOnChain({ db, charge, prepared: onChain, sums, amount })
      else await spendAtGateway({ db, charge, amount, now: clock.now() })
      return {
        success: true as const,
        transaction_id: transactionId,
        refund_id: refundId,
        status: 'pending' as const,
        ...(externalId !== undefined && { refund_transaction_id: externalId }),
        ...amountFields({ amount, currency }),
        currency,
      }
    },
    subjectsOf: ({ refund_transaction_id: id }) => (id === undefined ? [] : [id]),
    onCommitted: () => {
      desk.kick()
      for (const payBack of desk.payBacks().values()) payBack.kick()
    },
  })
}

/** What it moves at most, for the screen. */
function moveOf(asked: {
  chains: Chains
  charge: Charge
  body: RefundCreate | undefined
  onChain: PreparedRefund | undefined
}): Move {
  const { chains, charge, body, onChain } = asked
  const { userId, currency, gatewayId } = charge
  const wanted =
    body?.amount === undefined ? charge.amount : readAmount({ amount: body.amount, currency })
  const amount = decimalOf({ amount: onChain?.amount ?? wanted, currency })
  return {
    field: onChain === undefined ? 'amount' : 'to_address',
    way: 'refund',
    userId,
    amount,
    currency,
    gatewayId,
    ...(onChain && {
      chain: chains.all().find(({ chainId }) => chainId === onChain.chainId)?.name,
      address: checksummed(onChain.payee),
    }),
  }
}

async function requireRefundable(db: Db, { transactionId, status }: Charge): Promise<void> {
  if (status !== 'completed') {
    const sentence = `The payment is ${status}. Only a completed payment can be refunded.`
    throw new RequestError('conflict', sentence)
  }
  if (await areRefundsFrozen(db, transactionId)) {
    const sentence =
      'The block of this payment was replaced, and a break is open. Nothing is ' +
      'refunded until the payment is back or an operator has closed the break.'
    throw new RequestError('conflict', sentence)
  }
  if (await hasLostDispute(db, transactionId)) {
    const sentence = 'The dispute of this payment is lost, so its payer has the money back already.'
    throw new RequestError('conflict', sentence)
  }
}

async function prepareOnChain(facts: {
  desk: Deps['desk']
  randomBytes: RandomBytes
  db: Db
  charge: Charge
  body: RefundCreate | undefined
}): Promise<PreparedRefund> {
  const { desk, db, charge, body } = facts
  const { currency, reference, userId, chainId } = charge
  const payBack = chainId === undefined ? undefined : desk.payBacks().get(chainId)
  const payee = (body?.to_address ?? body?.payer) as Hex | undefined
  if (payBack === undefined || refundableOf(charge) === 0n || reference === undefined) {
    const sentence =
      'The platform does not have the key of this payee. Send the money back yourself.'
    throw new RequestError('conflict', sentence)
  }
  if (payee === undefined) {
    const message = 'Send the address that receives the refund, or the payer.'
    throw invalidRequest([{ field: 'to_address', code: 'required', message }])
  }
  const sums = await sumRefunds(db, charge.transactionId)
  const payer = await payerOf(db, { charge, body })
  const amount = requireRest({ charge, sums, payer, body })
  const transactionId = createId('TX', facts.randomBytes)
  const accept = await payBack.prepare(db, {
    subject: transactionId,
    spender: actorOf({ userId }),
    payee,
    currency,
    amount,
    reference: referenceOf(reference, sums.count),
  })
  return { transactionId, chainId, amount, payee, earlier: sums.count, accept }
}

/** The contract pays a reference once, so each refund has the one that follows from the last. */
function referenceOf(charge: Reference, earlier: number): Reference {
  let reference = refundReference(charge)
  for (let one = 0; one < earlier; one += 1) reference = refundReference(reference)
  return reference
}

/** What is paid on the chain is counted where its order is accepted. */
async function spendAtGateway(facts: {
  db: Db
  charge: Charge
  amount: bigint
  now: Date
}): Promise<void> {
  const { db, charge, now } = facts
  const { currency } = charge
  const amount = spendAmount({ amount: facts.amount, decimals: CURRENCY_DECIMALS[currency] })
  const kind = { spender: actorOf(charge), way: 'refund', currency, payee: undefined } as const
  await spend(db, { ...kind, amount, now })
}

/** The order, its transaction and the refund are stored together, or none of them is. */
async function acceptOnChain(facts: {
  db: Db
  charge: Charge
  prepared: PreparedRefund
  sums: RefundSums
  amount: bigint
}): Promise<void> {
  const { db, charge, prepared, sums, amount } = facts
  const { transactionId, payee, accept } = prepared
  if (prepared.amount !== amount || prepared.earlier !== sums.count) {
    const sentence = 'Meanwhile more has arrived or was refunded. Send the request again.'
    throw new RequestError('conflict', sentence)
  }
  const { hash } = await accept(db)
  await recordTransaction(db, {
    transactionId,
    userId: charge.userId,
    type: 'settlement',
    amount,
    currency: charge.currency,
    description: `refund of ${charge.transactionId}`,
    ethTransactionHash: hash,
    chainId: prepared.chainId,
    toAddress: payee,
    actor: actorOf(charge),
    reason: 'signed and on its way',
  })
}

/** Whose payment a refund sends back, and how much of it has not gone back yet. */
type PayerLeft = { payer: Hex; left: bigint }

/**
 * The payer that the request names, or its `to_address` where that has paid. Undefined where it
 * names neither: then the refund is of the charge as a whole, and nobody is guessed at.
 */
async function payerOf(
  db: Db,
  { charge, body }: { charge: Charge; body: RefundCreate | undefined },
): Promise<PayerLeft | undefined> {
  if (charge.kind !== 'crypto_checkout') return undefined
  const { transactionId } = charge
  const paid = await sumByPayer(db, transactionId)
  const [named, to] = [body?.payer, body?.to_address].map((text) => text?.toLowerCase() as Hex)
  if (named !== undefined && !paid.has(named)) {
    const message = 'This address has not paid. Use a payer of the arrivals of the payment.'
    throw invalidRequest([{ field: 'payer', code: 'unknown_payer', message }])
  }
  const payer = named ?? to
  const received = payer && paid.get(payer)
  if (payer === undefined || received === undefined) return undefined
  const taken = await sumPayerRefunds(db, { transactionId, payer })
  return { payer, left: refundableOf({ ...charge, received }) - taken }
}

/** How much goes back: what is asked for, or all that is left. */
function requireRest(facts: {
  charge: Charge
  sums: RefundSums
  payer: PayerLeft | undefined
  body: RefundCreate | undefined
}): bigint {
  const { charge, sums, payer, body } = facts
  const { currency } = charge
  const whole = refundableOf(charge) - sums.taken
  const rest = payer !== undefined && payer.left < whole ? payer.left : whole
  const asked = body?.amount === undefined ? rest : readAmount({ amount: body.amount, currency })
  if (rest <= 0n) {
    const sentence =
      whole > 0n
        ? 'Everything that this payer has paid is being refunded already. Read the status of the payment.'
        : 'The payment is being refunded already. Read its status.'
    throw new RequestError('conflict', sentence)
  }
  if (sums.count >= MAX_REFUNDS) {
    const sentence = `The limit of ${MAX_REFUNDS} refunds is reached. Send the rest yourself.`
    throw new RequestError('conflict', sentence)
  }
  if (asked <= rest) return asked
  const most = decimalOf({ amount: rest, currency })
  const of = rest < whole ? 'what this payer has paid' : 'this payment'
  const message = `At most ${most} ${currency} of ${of} can still be refunded.`
  throw new RequestError('limit_exceeded', message, {
    problems: [{ field: 'amount', code: 'amount_out_of_range', message }],
  })
}

/** Failed ones are counted too. All of them are listed with the payment, and at its gateway. */
const MAX_REFUNDS = 50
