import { codeOf } from '../base/errors.ts'
import type { Quorum } from '../chain/quorum.ts'
import type { Hex, Order } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { insertAttempt, supersedeOthers } from '../store/orders/attempts.ts'
import {
  advanceLane,
  closeNonce,
  lockLanes,
  noLane,
  openNonce,
  type Lease,
} from '../store/orders/lanes.ts'
import { findOrder, moveBundled, moveOrder } from '../store/orders/orders.ts'
import { openAlert } from '../store/orders/sender-alerts.ts'
import { later, signPayment } from './accept.ts'
import { nonceOnChain, type Taker } from './chain-view.ts'
import type { SenderContext } from './context.ts'
import { offerOf } from './fees.ts'
import { isLikePayment } from './outcome.ts'
import { estimateGas } from './estimate.ts'
import { writeLanes } from './record.ts'
import { paymentCall } from './sign.ts'
import type { Slot } from './slots.ts'

type Taken = { lease: Lease; quorum: Quorum; slot: Slot; taker: Taker }

/**
 * Somebody else's transaction took the nonce for good, so nothing of ours there can be mined any
 * more, and the order may be paid at another nonce: once, and only if it would succeed.
 */
export async function moveTakenSlot(context: SenderContext, taken: Taken): Promise<void> {
  const { clock, logger, traces } = context
  const { lease, quorum, slot, taker } = taken
  const startedAt = clock.now()
  const order = slot.orderId === undefined ? undefined : await findOrder(context.db, slot.orderId)
  const errorCode = order && (await reasonToFail(order, taken))
  const fees = offerOf(await context.quoteFees(quorum.signal), context.policy.maxFeePerGas)
  const chainNonce = await nonceOnChain(quorum, { signer: lease.signer, at: 'latest' })
  const trace = await traces?.fieldsOf(context.db, slot.orderId)
  logger.warn({ nonce: String(slot.nonce), by: taker.hash, ...trace }, 'a nonce was used outside')
  await writeLanes(context, [lease], async (db) => {
    if (!(await closeForeign(db, taken))) return
    if (order === undefined) return
    if (errorCode !== undefined) {
      await fail(context, db, { order, errorCode, taken })
      return
    }
    const { chainId, signer } = lease
    const [lane] = await lockLanes(db, { chainId, signers: [signer] })
    if (lane === undefined) throw noLane(lease)
    const nonce = later(lane.nextNonce, chainNonce)
    const { nextCounter } = lane
    await advanceLane(db, { lane, next: { nextNonce: nonce + 1n, nextCounter } })
    await openNonce(db, { ...lease, nonce, orderId: order.id })
    const { id: orderId, gas } = order
    const signed = await signPayment(context, { order, nonce, fees })
    const attempt = { ...signed, gas, fees, kind: 'payment' as const, signedAt: clock.now() }
    await insertAttempt(db, { chainId, signer, nonce, orderId, ...attempt })
  })
  const { orderId, newest } = slot
  const step = { name: 'taken', orderId, hash: newest.hash, startedAt } as const
  traces?.follow([{ ...step, endedAt: clock.now() }])
}

/** An error of the line rejects, and the move waits for the next look. */
async function reasonToFail(
  order: Order,
  { lease, quorum, taker }: Taken,
): Promise<string | undefined> {
  if (isLikePayment(order, taker)) return LIKE_PAYMENT
  if (order.cancelCode !== undefined) return order.cancelCode
  try {
    await estimateGas(quorum, { signer: lease.signer, call: paymentCall(order) })
    return undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === 'simulation_failed') return code
    // It waits for funds at its new nonce, and ends there when they stay away.
    if (code === 'insufficient_funds') return undefined
    throw error
  }
}

const LIKE_PAYMENT = 'nonce_taken_by_like_payment'

async function closeForeign(db: Db, { lease, slot, taker }: Taken): Promise<boolean> {
  const { nonce } = slot
  const { chainId, signer } = lease
  const taken: { by: Hex } = { by: taker.hash }
  const key = { chainId, signer, nonce, ...taken }
  const blockNumber = taker.block.number
  if (!(await closeNonce(db, { ...key, state: 'foreign', blockNumber }))) return false
  await supersedeOthers(db, [key])
  return true
}

async function fail(
  context: SenderContext,
  db: Db,
  { order, errorCode, taken }: { order: Order; errorCode: string; taken: Taken },
): Promise<void> {
  const now = context.clock.now()
  const { id, chainId } = order
  const failed = await moveOrder(db, { id, from: 'accepted', to: 'failed', errorCode, now })
  if (errorCode === LIKE_PAYMENT) {
    await openAlert(db, { kind: errorCode, chainId, orderId: id, hash: taken.taker.hash }, now)
  }
  const { hash } = taken.slot.newest
  const all = [failed, ...(await moveBundled(db, [failed]))]
  await context.onMoved(
    db,
    all.map((order) => ({ order, hash })),
  )
}
