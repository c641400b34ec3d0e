import type { Mint, Transfer, Withdrawal } from '../domain/ledger.ts'
import type { HashedOrder, Hex, Order } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { post } from '../store/ledger/ledger.ts'
import { insertMint, moveTransfer, type NewMint } from '../store/ledger/transfers.ts'
import { listAttemptsOf } from '../store/orders/attempts.ts'
import { tryMoveTransactions } from '../store/transactions/transactions.ts'
import type { LedgerContext } from './context.ts'

/** Holds the money of a mint whose order the sender has accepted in the same transaction. */
export async function createMint(context: LedgerContext, db: Db, request: NewMint): Promise<Mint> {
  const mint = await insertMint(db, request)
  await holdFor(context, db, mint)
  return mint
}

/** Takes the money out of the wallet, and keeps it until the transfer is decided. */
export async function holdFor(context: LedgerContext, db: Db, transfer: Transfer): Promise<void> {
  const { id: subject, walletId, amount, currency } = transfer
  const [from, to] = [{ wallet: walletId }, { heldOf: walletId }]
  await post(db, { kind: 'hold', subject, from, to, amount, currency })
  await context.tellOfTransfer(db, transfer)
}

/**
 * Moves the mint, or the withdrawal, that an order pays, in the SQL transaction that moved the
 * order. A reorg leaves it where it is, since nothing flips back.
 */
export async function moveByMint(context: LedgerContext, db: Db, move: HashedOrder): Promise<void> {
  const { order, hash } = move
  switch (order.state) {
    case 'accepted':
      return
    case 'mined': {
      const running = { id: order.subject, from: ['pending'], to: 'running' } as const
      const moved = await moveTransfer(db, { ...running, transactionHash: hash })
      if (moved) await context.tellOfTransfer(db, moved)
      return
    }
    case 'completed': {
      const attempts = await listAttemptsOf(db, order)
      const block = attempts.find((attempt) => attempt.hash === hash)?.block
      await completeMint(context, db, { id: order.subject, hash, blockNumber: block?.number })
      return
    }
    case 'failed':
      if (!MAYBE_MINTED.has(order.errorCode ?? '')) await failMint(context, db, order)
      return
    default:
      order.state satisfies never
  }
}

/**
 * The order is not proven to have minted, nor not to have: an alert of the sender is open. The
 * money stays held, and the mint runs on, until a mint with its memo is seen in a final block, or
 * an operator decides.
 */
const MAYBE_MINTED: ReadonlySet<string> = new Set([
  'settlement_mismatch',
  'nonce_taken_by_like_payment',
])

/** The mint is on the chain for good: the platform now owes it to the holders of the stablecoin. */
export async function completeMint(
  context: LedgerContext,
  db: Db,
  minted: { id: string; hash: Hex; blockNumber: bigint | undefined },
): Promise<void> {
  const { id, hash: transactionHash, blockNumber } = minted
  const open = { id, from: ['pending', 'running'], to: 'complete' } as const
  const moved = await moveTransfer(db, { ...open, transactionHash, blockNumber })
  if (moved?.kind !== 'mint' && moved?.kind !== 'withdrawal') return
  const { walletId, amount, currency } = moved
  await post(db, {
    kind: 'mint',
    subject: id,
    from: { heldOf: walletId },
    to: { stablecoinOn: moved.chainId },
    amount,
    currency,
  })
  await context.tellOfTransfer(db, moved)
  if (moved.kind === 'withdrawal') await completeRecord(db, { ...moved, hash: transactionHash })
}

/** The watch on the supply may see a mint before the sender does, and both lists say the same. */
async function completeRecord(
  db: Db,
  { transactionId, hash }: Pick<Withdrawal, 'transactionId'> & { hash: Hex },
): Promise<void> {
  const cause = { transactionId, actor: 'supply', reason: 'minted, in a final block' }
  await tryMoveTransactions(db, [{ ...cause, from: 'pending', to: 'processing' }])
  const done = { ...cause, ethTransactionHash: hash }
  await tryMoveTransactions(db, [{ ...done, from: 'processing', to: 'completed' }])
}

async function failMint(context: LedgerContext, db: Db, order: Order): Promise<void> {
  const errorCode = order.errorCode ?? 'blockchain_error'
  const open = { id: order.subject, from: ['pending', 'running'], to: 'failed' } as const
  const moved = await moveTransfer(db, { ...open, errorCode })
  if (!moved) return
  const { id: subject, walletId, amount, currency } = moved
  const [from, to] = [{ heldOf: walletId }, { wallet: walletId }]
  await post(db, { kind: 'release', subject, from, to, amount, currency })
  await context.tellOfTransfer(db, moved)
}
