import { weiOf, type Attempt, type Order } from '../domain/orders.ts'
import { insertAttempt, listAttemptsOf } from '../store/attempts.ts'
import type { Db } from '../store/database.ts'
import { advanceLane, lockLane, openNonce, type Lane } from '../store/lanes.ts'
import { findOrderOf, insertOrder, readLaneLoad } from '../store/orders.ts'
import { addSpend } from '../store/spends.ts'
import { limitsOf, type SenderContext } from './context.ts'
import { insufficientFunds, OrderRefusedError, refused, type PreparedOrder } from './prepare.ts'
import { paymentCall, signChecked, type Signed } from './sign.ts'

export type AcceptedOrder = { order: Order; hash: Attempt['hash'] }

/**
 * Accepts an order in the open transaction of the caller: locks the lane, takes a nonce, signs, and
 * stores the raw transaction. Nothing was sent when it commits, and nothing is there when it does
 * not.
 */
export async function acceptOrder(
  context: SenderContext,
  db: Db,
  prepared: PreparedOrder,
): Promise<AcceptedOrder> {
  const { chainId, policy } = context
  const { signer } = prepared
  const lane = await lockLane(db, { chainId, signer })
  const earlier = await findOrderOf(db, prepared.subject)
  if (earlier !== undefined) return acceptedBefore(db, earlier)
  const { open, owed } = await readLaneLoad(db, lane)
  if (open >= policy.inFlight + policy.queued) throw laneFull(signer)
  checkFunds(prepared, owed)
  await checkSpend(context, db, prepared)
  const nonce = later(lane.nextNonce, prepared.chainNonce)
  await advanceLane(db, lane, { nextNonce: nonce + 1n, nextCounter: lane.nextCounter + 1n })
  const order = await storeOrder(context, db, { prepared, lane })
  await openNonce(db, { chainId, signer, nonce, orderId: order.id })
  const signed = await signPayment(context, { order, nonce, fees: prepared.fees })
  await storePayment(context, db, { order, nonce, fees: prepared.fees, signed })
  await context.onMoved(db, { order, from: undefined, hash: signed.hash })
  return { order, hash: signed.hash }
}

type NoncePayment = { order: Order; nonce: bigint; fees: PreparedOrder['fees'] }

export async function signPayment(
  context: SenderContext,
  { order, nonce, fees }: NoncePayment,
): Promise<Signed> {
  const { chainId, gas, signer } = order
  return signChecked(context.sign, signer, { ...paymentCall(order), chainId, nonce, gas, fees })
}

export async function storePayment(
  { clock }: SenderContext,
  db: Db,
  { order, nonce, fees, signed }: NoncePayment & { signed: Signed },
): Promise<void> {
  const { chainId, signer, gas, id } = order
  await insertAttempt(db, {
    chainId,
    signer,
    nonce,
    gas,
    fees,
    orderId: id,
    kind: 'payment',
    ...signed,
    signedAt: clock.now(),
  })
}

/** A nonce that the chain has used already was used outside of the platform. */
export function later(nextNonce: bigint, chainNonce: bigint | undefined): bigint {
  return chainNonce !== undefined && chainNonce > nextNonce ? chainNonce : nextNonce
}

async function acceptedBefore(db: Db, order: Order): Promise<AcceptedOrder> {
  const newest = (await listAttemptsOf(db, order.id)).at(-1)
  if (newest === undefined) throw new TypeError('an order is stored with its first attempt')
  return { order, hash: newest.hash }
}

async function checkSpend(
  { policy, clock }: SenderContext,
  db: Db,
  { spender, route, payee, amount }: PreparedOrder,
): Promise<void> {
  const day = clock.now().toISOString().slice(0, 10)
  const { perDay, perPayeeAndDay, unit } = limitsOf(policy, route)
  // Dollars and ether are counted apart.
  const spend = { spender: route === 'mint' ? `mint:${spender}` : spender, day, amount }
  if (!(await addSpend(db, { ...spend, payee: '', limit: perDay }))) {
    throw refused(
      'limit_per_day',
      `At most ${perDay} ${unit} may be sent in one day (UTC). Wait, or raise the limit.`,
    )
  }
  if (!(await addSpend(db, { ...spend, payee, limit: perPayeeAndDay }))) {
    throw refused(
      'limit_per_payee',
      `At most ${perPayeeAndDay} ${unit} may go to one payee in one day (UTC). Wait, or raise the limit.`,
    )
  }
}

function checkFunds(prepared: PreparedOrder, owed: bigint): void {
  const { signer, gas, fees, balance } = prepared
  if (owed + weiOf(prepared) + gas * fees.maxFeePerGas > balance) throw insufficientFunds(signer)
}

async function storeOrder(
  { chainId, references, clock }: SenderContext,
  db: Db,
  { prepared, lane }: { prepared: PreparedOrder; lane: Lane },
): Promise<Order> {
  const { subject, spender, signer, route, contract, payee, amount, gas } = prepared
  const counter = lane.nextCounter
  const reference = prepared.reference ?? references.encode({ payer: signer, counter })
  const payment = { subject, spender, signer, route, contract, payee, amount, gas }
  return insertOrder(db, { ...payment, chainId, counter, reference, acceptedAt: clock.now() })
}

function laneFull(signer: string): OrderRefusedError {
  return new OrderRefusedError(
    `Too many orders of ${signer} wait for their turn. Try again later, or pay from more signers.`,
    { code: 'lane_full', retryable: true },
  )
}
