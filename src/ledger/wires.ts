import type { Db } from '../store/database/database.ts'
import type { WireProgress } from '../store/rails/wires.ts'
import { moveDrawnByWire } from './bank-transfers.ts'
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
