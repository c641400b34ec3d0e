import { InsufficientFundsError } from '../domain/ledger.ts'
import { LEDGER_PER_CENT } from '../domain/money.ts'
import type { Db } from '../store/database/database.ts'
import { findHold, post } from '../store/ledger/ledger.ts'
import { mainWallet } from '../store/ledger/wallets.ts'
import type { WireProgress } from '../store/rails/wires.ts'
import { movePaymentByWire } from './bank-payments.ts'
import type { LedgerContext } from './context.ts'
import { moveRedeemByWire } from './redeems.ts'

/** Moves what a wire pays as the wire moves, in its SQL transaction. */
export async function moveByWire(
  context: LedgerContext,
  db: Db,
  move: WireProgress,
): Promise<void> {
  switch (move.purpose) {
    case 'payment':
      return movePaymentByWire(context, db, move)
    case 'redeem':
      return moveRedeemByWire(context, db, move)
    case 'transfer':
      return moveDrawnByWire(db, move)
    default:
      move.purpose satisfies never
  }
}

/**
 * Holds what a transfer to a bank will take, of the main wallet or of its credit line. Rejects with
 * `insufficient_funds`, and then nothing is to be stored.
 */
export async function drawForTransfer(
  db: Db,
  { userId, subject, cents }: { userId: number; subject: string; cents: bigint },
): Promise<void> {
  const { id, amount: balance, creditLine, currency } = await mainWallet(db, userId)
  const amount = cents * LEDGER_PER_CENT
  // Asked first, since a posting that is refused takes the whole SQL transaction with it.
  if (balance + creditLine < amount) throw new InsufficientFundsError()
  const [from, to] = [{ wallet: id }, { heldOf: id }]
  await post(db, { kind: 'draw', subject, from, to, amount, currency })
}

/** What was held leaves for the bank, or goes back to where it was held from: each once. */
export async function moveDrawnByWire(db: Db, { subject, state }: WireProgress): Promise<void> {
  if (state === 'accepted') return
  const hold = await findHold(db, subject)
  if (hold === undefined) return
  const { walletId, amount, currency, endedAs } = hold
  const of = { subject, amount, currency }
  const [wallet, held] = [{ wallet: walletId }, { heldOf: walletId }]
  if (state === 'paid') {
    await post(db, { ...of, kind: 'pay_out', from: held, to: BANK })
  } else if (endedAs === 'pay_out') {
    await post(db, { ...of, kind: 'return', from: BANK, to: wallet })
  } else {
    await post(db, { ...of, kind: 'release', from: held, to: wallet })
  }
}

const BANK = { system: 'bank' } as const
