import type { WalletTransfer } from '../domain/ledger.ts'
import type { Db } from '../store/database/database.ts'
import { post } from '../store/ledger/ledger.ts'
import { insertWalletTransfer, type NewWalletTransfer } from '../store/ledger/transfers.ts'
import type { LedgerContext } from './context.ts'

/** From one wallet to another at once, or rejects with `insufficient_funds` and moves nothing. */
export async function transferBetween(
  context: LedgerContext,
  db: Db,
  request: NewWalletTransfer,
): Promise<WalletTransfer> {
  const transfer = await insertWalletTransfer(db, request)
  const { id: subject, walletId, toWalletId, amount, currency } = transfer
  const [from, to] = [{ wallet: walletId }, { wallet: toWalletId }]
  await post(db, { kind: 'transfer', subject, from, to, amount, currency })
  await context.tellOfTransfer(db, transfer)
  return transfer
}
