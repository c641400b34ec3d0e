import type { Attempt } from '../domain/orders.ts'
import { findAttempt, listFinalAttempts, recordBlock } from '../store/attempts.ts'
import { readCursor, writeCursor, type ChainCursor } from '../store/chain-cursor.ts'
import { closeAlert, listOpenAlerts, openAlert, type SenderAlert } from '../store/sender-alerts.ts'
import { send } from './broadcast.ts'
import { findSeen, type Look } from './chain-view.ts'
import type { SenderContext } from './context.ts'

/**
 * Compares the chain with where it stood at the last look. A reorg of what counted as final changes
 * no order: it opens an alert, and the raw transactions are sent again until they stand once more.
 */
export async function watchChain(context: SenderContext, look: Look): Promise<void> {
  const { db, chainId, clock } = context
  const cursor = await readCursor(db, chainId)
  if (cursor?.final !== undefined) {
    const hash = await look.hashAt(cursor.final.number)
    // Nothing is concluded, and the place is kept, until enough providers agree on that block.
    if (hash === undefined) return
    if (hash !== cursor.final.hash) await findLost(context, { look, below: cursor.final.number })
  }
  const isReorg = cursor !== undefined && (await isReplaced(cursor, look))
  if (isReorg) context.logger.warn({ block: String(cursor.head.number) }, 'the chain reorganised')
  const { head, final } = look
  await writeCursor(db, { chainId, head, final, isReorg, now: clock.now() })
  await tendAlerts(context, look)
}

async function isReplaced({ head }: ChainCursor, look: Look): Promise<boolean> {
  const hash = await look.hashAt(head.number)
  return hash !== undefined && hash !== head.hash
}

/** How far below the final block it looks for lost ones, and how many at a time. */
const DEPTH = 256n
const MAX_LOST = 1000

async function findLost(
  { db, chainId, clock, logger }: SenderContext,
  { look, below }: { look: Look; below: bigint },
): Promise<void> {
  const fromBlock = below > DEPTH ? below - DEPTH : 0n
  for (const attempt of await listFinalAttempts(db, { chainId, fromBlock, limit: MAX_LOST })) {
    if (attempt.block === undefined) continue
    const hash = await look.hashAt(attempt.block.number)
    if (hash === undefined || hash === attempt.block.hash) continue
    const alert = alertOf(attempt)
    if (await openAlert(db, alert, clock.now())) {
      logger.error({ hash: attempt.hash }, 'the block of a final transaction is gone')
    }
  }
}

function alertOf({ chainId, orderId, hash }: Attempt): SenderAlert {
  return { kind: 'reorg_after_final', chainId, orderId, hash }
}

async function tendAlerts(context: SenderContext, look: Look): Promise<void> {
  const { db, chainId, clock } = context
  for (const alert of await listOpenAlerts(db, chainId)) {
    if (alert.kind !== 'reorg_after_final') continue
    const attempt = await findAttempt(db, alert)
    if (attempt?.block === undefined) continue
    const seen = await findSeen(look, attempt)
    if (seen === undefined) {
      await send(context, look.quorum, attempt)
      continue
    }
    const isFinal = look.final !== undefined && seen.block.number <= look.final.number
    // The same transaction with another result is no repair: it stays for an operator to see.
    if (!isFinal || seen.block.succeeded !== attempt.block.succeeded) continue
    await db.transaction().execute(async (transaction) => {
      const { id } = attempt
      await recordBlock(transaction, { id, from: 'final', to: 'final', block: seen.block })
      await closeAlert(transaction, alert, clock.now())
    })
  }
}
