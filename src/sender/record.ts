import type { TransactionStatus } from '../domain/states.ts'
import type { Db } from '../store/database.ts'
import { tryMoveTransaction } from '../store/transactions.ts'
import type { OrderMove } from './context.ts'

/**
 * Moves the transaction that an order pays, in the SQL transaction that moved the order. It is in
 * work from its first block on; a reorg leaves it there, since nothing flips back.
 */
export async function recordMove(db: Db, { order, from, hash }: OrderMove): Promise<void> {
  if (from === undefined || from === order.state) return
  const transactionId = order.subject
  const move = (from: TransactionStatus, to: TransactionStatus, reason: string) =>
    tryMoveTransaction(db, {
      transactionId,
      from,
      to,
      actor: 'sender',
      reason,
      ethTransactionHash: hash,
    })
  switch (order.state) {
    case 'accepted':
      return
    case 'mined':
      await move('pending', 'processing', 'in a block, not final yet')
      return
    case 'completed':
      await move('processing', 'completed', 'paid, in a final block')
      return
    case 'failed': {
      const reason = `not paid: ${order.errorCode ?? 'unknown'}`
      const moved = await move('processing', 'failed', reason)
      if (!moved) await move('pending', 'failed', reason)
      return
    }
    default:
      order.state satisfies never
  }
}
