import { feeOf } from '../chain/answers.ts'
import { bundlesAmong, signedFor, type Attempt, type Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { recordBlocks, supersedeOthers } from '../store/orders/attempts.ts'
import { closeNonces } from '../store/orders/lanes.ts'
import { findOrders, findOrdersIn, moveOrders, type OrderStep } from '../store/orders/orders.ts'
import { openAlert } from '../store/orders/sender-alerts.ts'
import type { CanonicalReceipt } from './chain-view.ts'
import type { SenderContext } from './context.ts'
import { outcomesOf, type DecidedOrder } from './outcome.ts'
import type { Slot } from './slots.ts'

export type Closing = { slot: Slot; attempt: Attempt; seen: CanonicalReceipt }

/**
 * The attempts took their nonces for good: what they did decides the orders, in the open
 * transaction.
 */
export async function closeSlots(
  context: SenderContext,
  db: Db,
  closing: readonly Closing[],
): Promise<void> {
  const taken = closing.map(({ attempt, seen }) => {
    const { chainId, signer, nonce, hash } = attempt
    const { number } = seen.block
    return { chainId, signer, nonce, by: hash, state: 'used' as const, blockNumber: number }
  })
  const blocks = closing.map(({ attempt, seen }) => {
    return { id: attempt.id, from: 'mined' as const, to: 'final' as const, block: seen.block }
  })
  await recordBlocks(db, blocks)
  await supersedeOthers(db, taken)
  await closeNonces(db, taken)
  for (const { seen } of closing) {
    context.onEvent({ kind: 'final', gasWei: feeOf(seen.block) })
  }
  const ids = closing.flatMap(({ slot }) => slot.orderId ?? [])
  const orders = new Map((await findOrders(db, ids)).map((order) => [order.id, order]))
  const bundled = Map.groupBy(await findOrdersIn(db, bundlesAmong(orders.values())), signedFor)
  const decided: Decided[] = []
  for (const { slot, attempt, seen } of closing) {
    const order = slot.orderId === undefined ? undefined : orders.get(slot.orderId)
    if (order?.state !== 'mined') continue
    const found = { attempt, seen, bundled: bundled.get(order.id) ?? [] }
    for (const one of outcomesOf(order, found)) decided.push({ ...one, attempt })
  }
  if (decided.length > 0) await decide(context, db, decided)
}

type Decided = DecidedOrder & { attempt: Attempt }

async function decide(context: SenderContext, db: Db, decided: readonly Decided[]): Promise<void> {
  const now = context.clock.now()
  const steps = decided.map(({ order, outcome }): OrderStep => {
    const step = { id: order.id, from: order.state, to: outcome.state, now }
    if (outcome.state !== 'failed') return step
    const { errorCode, refusal } = outcome
    return { ...step, errorCode, refusal }
  })
  const orders = await moveOrders(db, steps)
  const moves = decided.flatMap(({ attempt: { hash } }, place) => {
    const order = orders[place]
    return order === undefined ? [] : { order, hash }
  })
  for (const { order, attempt, outcome } of decided) {
    if (outcome.state !== 'failed' || !outcome.isMismatch) continue
    await alertMismatch(context, db, { orderId: signedFor(order), hash: attempt.hash, now })
  }
  await context.onMoved(db, moves)
}

async function alertMismatch(
  { chainId, logger, traces }: SenderContext,
  db: Db,
  { orderId, hash, now }: { orderId: bigint; hash: Hex; now: Date },
): Promise<void> {
  await openAlert(db, { kind: 'settlement_mismatch', chainId, orderId, hash }, now)
  const trace = await traces?.fieldsOf(db, orderId)
  logger.error({ hash, ...trace }, 'a payment succeeded without what proves it')
}
