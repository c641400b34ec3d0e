import { BaseError } from '../base/errors.ts'

/** The order is the order of the counts in a tally; a new word is added at the end. */
export const TRANSACTION_TYPES = [
  'deposit',
  'withdrawal',
  'transfer',
  'payment',
  'settlement',
] as const

export const TRANSACTION_STATUSES = [
  'pending',
  'processing',
  'completed',
  'failed',
  'refunded',
] as const

export type TransactionType = (typeof TRANSACTION_TYPES)[number]
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number]

export type Move = { from: TransactionStatus; to: TransactionStatus }

/** Every transaction begins here; the money has not moved yet. */
export const FIRST_STATUS = 'pending' satisfies TransactionStatus

/** The one table of legal moves. Whatever is not listed is refused, staying in place included. */
export const LEGAL_MOVES: Readonly<Record<TransactionStatus, readonly TransactionStatus[]>> = {
  pending: ['processing', 'failed'],
  processing: ['completed', 'failed'],
  completed: ['refunded'],
  failed: [],
  refunded: [],
}

export function isLegalMove(move: Move): boolean {
  return LEGAL_MOVES[move.from].includes(move.to)
}

export function requireLegalMove(move: Move): void {
  if (!isLegalMove(move)) throw new IllegalMoveError(move)
}

/** A final status never changes again. */
export function isFinal(status: TransactionStatus): boolean {
  return LEGAL_MOVES[status].length === 0
}

class IllegalMoveError extends BaseError {
  constructor(move: Move) {
    const next = LEGAL_MOVES[move.from]
    super(
      `A ${move.from} transaction cannot become ${move.to}. ` +
        (next.length === 0
          ? 'Nothing follows that status.'
          : `It can become ${next.join(' or ')}.`),
      { code: 'illegal_move', details: move },
    )
  }
}
