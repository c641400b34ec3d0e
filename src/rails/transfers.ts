import { isLegalMove, type TransactionStatus } from '../domain/states.ts'
import type { WireProgress } from '../store/rails/wires.ts'
import { findStatus, moveTransaction } from '../store/transactions/transactions.ts'
import type { OnWireMoved } from './wire-rail.ts'

/** Moves the transaction of a transfer as its wire moves. */
export const moveTransferByWire: OnWireMoved = async (db, moved) => {
  const transactionId = moved.subject
  const from = await findStatus(db, transactionId)
  if (from === undefined) return
  const to = statusFor(moved.state, from)
  if (!isLegalMove({ from, to })) return
  const actor = 'institution:bank'
  await moveTransaction(db, { transactionId, from, to, actor, reason: reasonOf(moved) })
}

function statusFor(state: WireProgress['state'], from: TransactionStatus): TransactionStatus {
  const statuses = {
    accepted: 'processing',
    paid: 'completed',
    rejected: 'failed',
    // What comes back after it had arrived is told apart from what never arrived.
    returned: from === 'completed' ? 'refunded' : 'failed',
  } as const
  return statuses[state]
}

function reasonOf({ state, code }: WireProgress): string {
  const words = {
    accepted: 'the bank has it',
    paid: 'the bank has sent it',
    rejected: 'the bank refused it',
    returned: 'the other bank sent it back',
  }[state]
  return code === undefined ? words : `${words}: ${code}`
}
