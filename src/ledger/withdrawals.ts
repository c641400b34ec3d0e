import type { Withdrawal } from '../domain/ledger.ts'
import type { HashedOrder } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { post } from '../store/ledger/ledger.ts'
import {
  findWithdrawal,
  insertWithdrawal,
  moveTransfer,
  type NewWithdrawal,
} from '../store/ledger/transfers.ts'
import type { LedgerContext } from './context.ts'
import { holdFor, moveByMint } from './mints.ts'

/** Holds the money of a withdrawal whose order the sender has accepted in the same transaction. */
export async function createWithdrawal(
  context: LedgerContext,
  db: Db,
  request: NewWithdrawal,
): Promise<Withdrawal> {
  const withdrawal = await insertWithdrawal(db, request)
  await holdFor(context, db, withdrawal)
  return withdrawal
}

/**
 * Moves the withdrawal that an order pays, if it pays one, in the SQL transaction that moved the
 * order. One that is minted goes as mints do.
 */
export async function moveByWithdrawal(
  context: LedgerContext,
  db: Db,
  { order, hash }: HashedOrder,
): Promise<void> {
  const withdrawal = await findWithdrawal(db, order.subject)
  if (withdrawal === undefined) return
  const { id } = withdrawal
  if (order.route === 'mint' || order.state !== 'completed') {
    await moveByMint(context, db, { order: { ...order, subject: id }, hash })
    return
  }
  const open = { id, from: ['pending', 'running'], to: 'complete' } as const
  const moved = await moveTransfer(db, { ...open, transactionHash: hash })
  if (moved === undefined) return
  // Dollars that the platform had are the receiver's now, and it keeps what stood behind them.
  const { walletId, amount, currency } = moved
  const [from, to] = [{ heldOf: walletId }, { system: 'treasury' as const }]
  await post(db, { kind: 'withdraw', subject: id, from, to, amount, currency })
  await context.tellOfTransfer(db, moved)
}
