import type { HashedOrder, Order } from '../domain/orders.ts'
import type { TransactionStatus } from '../domain/states.ts'
import type { Db } from '../store/database/database.ts'
import { transact } from '../store/database/transact.ts'
import { holdLeases, type Lease } from '../store/orders/lanes.ts'
import { closeDoneBatches } from '../store/transactions/batches.ts'
import { tryMoveTransactions, type TransactionStep } from '../store/transactions/transactions.ts'
import type { SenderContext } from './context.ts'

/**
 * Moves the transactions that orders pay, in the SQL transaction that moved the orders. They are in
 * work from their first block on; a reorg leaves them there, since nothing flips back.
 */
export async function recordMoves(db: Db, moves: readonly HashedOrder[]): Promise<void> {
  const steps = moves.flatMap(stepOf)
  if (steps.length === 0) return
  const moved = new Set((await tryMoveTransactions(db, steps)).map((one) => one.transactionId))
  // A payment that was never in a block, as far as we saw, fails without having been in work.
  const rest = steps.filter(({ to, transactionId }) => to === 'failed' && !moved.has(transactionId))
  if (rest.length > 0) {
    await tryMoveTransactions(
      db,
      rest.map((step) => ({ ...step, from: 'pending' })),
    )
  }
  const bundled = moves.filter(({ order }) => order.bundle !== undefined && isDecided(order))
  if (bundled.length > 0) {
    await closeDoneBatches(
      db,
      bundled.map(({ order }) => order.subject),
    )
  }
}

function isDecided({ state }: Order): boolean {
  return state === 'completed' || state === 'failed'
}

function stepOf({ order, hash }: HashedOrder): TransactionStep[] {
  const step = (from: TransactionStatus, to: TransactionStatus, reason: string) => [
    { transactionId: order.subject, from, to, actor: 'sender', reason, ethTransactionHash: hash },
  ]
  switch (order.state) {
    case 'accepted':
      return []
    case 'mined':
      return step('pending', 'processing', 'in a block, not final yet')
    case 'completed':
      return step('processing', 'completed', 'paid, in a final block')
    case 'failed':
      return step('processing', 'failed', `not paid: ${order.errorCode ?? 'unknown'}`)
    default:
      return order.state satisfies never
  }
}

/**
 * One SQL transaction for the open nonces of lanes, refused to a worker whose lease of one of them
 * another one took.
 */
export async function writeLanes(
  { db }: SenderContext,
  leases: readonly Lease[],
  work: (db: Db) => Promise<void>,
): Promise<void> {
  await transact(db, async (transaction) => {
    await holdLeases(transaction, leases)
    await work(transaction)
  })
}
