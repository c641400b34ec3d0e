import type { Attempt, Order } from '../domain/orders.ts'
import { recordBlock, supersedeOthers } from '../store/attempts.ts'
import type { Db } from '../store/database.ts'
import { closeNonce } from '../store/lanes.ts'
import { findOrder, moveOrder } from '../store/orders.ts'
import { openAlert } from '../store/sender-alerts.ts'
import type { Seen } from './chain-view.ts'
import type { SenderContext } from './context.ts'
import { outcomeOf, type Outcome } from './outcome.ts'
import type { Slot } from './slots.ts'

export type Closing = { slot: Slot; attempt: Attempt; seen: Seen }

/** The attempt took the nonce for good: what it did decides the order, in the open transaction. */
export async function closeSlot(
  context: SenderContext,
  db: Db,
  { slot, attempt, seen }: Closing,
): Promise<void> {
  const { chainId, signer, nonce, hash, id } = attempt
  const { block } = seen
  const taken = { chainId, signer, nonce, by: hash }
  await recordBlock(db, { id, from: 'mined', to: 'final', block })
  await supersedeOthers(db, taken)
  await closeNonce(db, { ...taken, state: 'used', blockNumber: block.number })
  context.onEvent({ kind: 'final', gasWei: block.gasUsed * block.gasPrice })
  if (slot.orderId === undefined) return
  const order = await findOrder(db, slot.orderId)
  if (order?.state !== 'mined') return
  await decide(context, db, { order, attempt, outcome: await outcomeOf(order, attempt, seen) })
}

async function decide(
  context: SenderContext,
  db: Db,
  { order, attempt, outcome }: { order: Order; attempt: Attempt; outcome: Outcome },
): Promise<void> {
  const { chainId, hash } = attempt
  const now = context.clock.now()
  const move = { id: order.id, from: order.state, to: outcome.state, now }
  const isFailed = outcome.state === 'failed'
  const decided = await moveOrder(db, {
    ...move,
    ...(isFailed && { errorCode: outcome.errorCode }),
  })
  if (isFailed && outcome.isMismatch) {
    await openAlert(db, { kind: 'settlement_mismatch', chainId, orderId: order.id, hash }, now)
    context.logger.error({ hash }, 'a payment succeeded without what proves it')
  }
  await context.onMoved(db, { order: decided, from: order.state, hash })
}
