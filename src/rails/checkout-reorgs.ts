import type { Clock } from '../base/clock.ts'
import { BaseError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { BlockReader, TimedBlock } from '../chain/read/blocks.ts'
import { breakId } from '../domain/break-ids.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { lockCharge } from '../store/rails/charges.ts'
import {
  forgetPaidIn,
  listPaidBlocks,
  type CheckoutPayment,
  type PaidBlock,
} from '../store/rails/checkouts.ts'
import { closeBreak, recordFindings } from '../store/reconciliation/breaks.ts'
import { ensureWatchRun, type WatchSource } from '../store/reconciliation/runs.ts'
import { judge } from './checkout-judge.ts'

export type ReorgDeps = {
  db: Db
  readBlock: BlockReader
  clock: Clock
  logger: Logger
}

/**
 * Stops counting payments in blocks of the range that were replaced. A completed charge stays
 * completed: a break opens, and while it is open nothing of the charge is refunded.
 */
export async function forgetReplaced(
  deps: ReorgDeps,
  range: { chainId: number; from: bigint; to: bigint },
  signal: AbortSignal,
): Promise<void> {
  const { db, readBlock } = deps
  let block: TimedBlock | undefined
  for (const paid of await listPaidBlocks(db, { ...range, limit: MAX_PAID_BLOCKS })) {
    if (block?.number !== paid.blockNumber) block = await readBlock(paid.blockNumber, signal)
    if (block === undefined) throw new BlockUnknownError()
    if (block.hash !== paid.blockHash) await forget(deps, { ...paid, ...range, now: block.hash })
  }
}

const MAX_PAID_BLOCKS = 100_000

/** `now` is the block that replaced the one that is gone. */
async function forget(
  { db, clock, logger }: ReorgDeps,
  gone: PaidBlock & { chainId: number; now: Hex },
): Promise<void> {
  const { chainId, transactionId } = gone
  const forgotten = await db.transaction().execute(async (db) => {
    const charge = await lockCharge(db, transactionId)
    if (charge === undefined) return []
    const payments = await forgetPaidIn(db, gone)
    // What came in another token has moved nothing, and moves nothing now.
    const counted = payments.filter(({ verdict }) => verdict !== 'wrong_token')
    if (counted.length === 0) return payments
    await judge(db, charge)
    const isPaid = charge.status === 'completed' || charge.status === 'refunded'
    if (isPaid) {
      const now = clock.now()
      const onChain = gone.now
      await openReorged(db, { payments: counted, chainId, onChain, source: SOURCE, now })
    }
    return payments
  })
  for (const { transactionHash: hash } of forgotten) {
    logger.error({ transactionId, hash }, 'the final block of a checkout payment is gone')
  }
}

const SOURCE = 'checkouts'

/** What came in a block that is gone, for a transaction of ours. */
type Arrival = Pick<
  CheckoutPayment,
  'transactionId' | 'transactionHash' | 'amount' | 'payer' | 'blockNumber' | 'blockHash'
>

/** `onChain` is the block that stands there now, if there is one. */
export async function openReorged(
  db: Db,
  opened: {
    payments: readonly Arrival[]
    chainId: number
    onChain: Hex | undefined
    source: WatchSource
    now: Date
  },
): Promise<void> {
  const { payments, chainId, onChain, source, now } = opened
  const findings = payments.map((payment) => {
    const { transactionId, transactionHash: hash, amount, blockHash = null } = payment
    return {
      id: reorgedId({ ...payment, chainId }),
      kind: 'reorged' as const,
      transactionId,
      hash,
      recorded: { amount_units: String(amount), block_hash: blockHash },
      onChain: { block_hash: onChain ?? null },
      evidence: { payer: payment.payer, block: String(payment.blockNumber) },
    }
  })
  const run = await ensureWatchRun(db, { source, chainId, now })
  await recordFindings(db, findings, { chainId, source, run, actor: source, now })
}

/** Ends what has frozen the refunds of a charge, where its payment is in a final block again. */
export async function closeReorged(
  db: Db,
  { source = SOURCE, now, ...payment }: Paid & { source?: WatchSource; now: Date },
): Promise<void> {
  const note = 'the payment is in a final block again'
  const id = reorgedId(payment)
  await closeBreak(db, { breakId: id, as: 'resolved', actor: source, note, now })
}

type Paid = Pick<CheckoutPayment, 'chainId' | 'transactionId' | 'transactionHash'>

function reorgedId({ chainId, transactionId, transactionHash: hash }: Paid): string {
  return breakId({ chainId, kind: 'reorged', transactionId, hash })
}

class BlockUnknownError extends BaseError {
  constructor() {
    super('The node does not know a final block, so nothing is concluded. It is asked again.', {
      code: 'block_unknown',
      retryable: true,
    })
  }
}
