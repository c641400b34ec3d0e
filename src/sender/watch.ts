import { groupsOf } from '../base/groups.ts'
import type { Attempt } from '../domain/orders.ts'
import {
  findAttempt,
  listFinalAttempts,
  listFinalBlocks,
  recordBlock,
} from '../store/orders/attempts.ts'
import {
  readCursor,
  writeCursor,
  type BlockId,
  type ChainCursor,
} from '../store/orders/chain-cursor.ts'
import {
  closeAlert,
  openAlert,
  takeAlerts,
  type SenderAlert,
} from '../store/orders/sender-alerts.ts'
import { sendAll } from './broadcast.ts'
import { findSeen, type ChainLook, type CanonicalReceipt } from './chain-view.ts'
import type { SenderContext } from './context.ts'

/**
 * Compares the chain with where it stood at the last look. A reorg of what counted as final changes
 * no order: it opens an alert, and the raw transactions are sent again until they stand once more.
 */
export async function watchChain(context: SenderContext, look: ChainLook): Promise<void> {
  const { db, chainId, clock } = context
  const { head } = look
  const cursor = await readCursor(db, chainId)
  // The place is kept until enough providers agree on all that was final before it.
  if (cursor?.final !== undefined && !(await isCompared(context, look, cursor.final))) return
  const isReorg = cursor !== undefined && (await isReplaced(cursor, look))
  if (isReorg) context.logger.warn({ block: String(cursor.head.number) }, 'the chain reorganised')
  const final = look.final ?? cursor?.final
  // Another worker looked later.
  if (final !== undefined && final.number > head.number) return
  await writeCursor(db, { chainId, head, final, isReorg, now: clock.now() })
}

async function isReplaced({ head }: ChainCursor, look: ChainLook): Promise<boolean> {
  const hash = await look.hashAt(head.number)
  return hash !== undefined && hash !== head.hash
}

/** False: something is not agreed on. */
async function isCompared(
  context: SenderContext,
  look: ChainLook,
  final: BlockId,
): Promise<boolean> {
  const hash = await look.hashAt(final.number)
  if (hash === undefined) return false
  return hash === final.hash || findLost(context, { look, below: final.number })
}

/** How far below the final block it looks for lost ones, and how many blocks at a time. */
const DEPTH = 256n
const BLOCKS_AT_ONCE = 64

/** False: some blocks are not agreed on, and may be lost as well. */
async function findLost(
  context: SenderContext,
  { look, below }: { look: ChainLook; below: bigint },
): Promise<boolean> {
  const { db, chainId } = context
  const from = below > DEPTH ? below - DEPTH : 0n
  const blocks = await listFinalBlocks(db, { chainId, from })
  let isComplete = true
  for (const some of groupsOf(blocks, BLOCKS_AT_ONCE)) {
    const hashes = await Promise.all(some.map(({ number }) => look.hashAt(number)))
    for (const [at, block] of some.entries()) {
      const hash = hashes[at]
      if (hash === undefined) isComplete = false
      else if (hash !== block.hash) await alertLost(context, block)
    }
  }
  return isComplete
}

async function alertLost(
  { db, chainId, clock, logger, traces }: SenderContext,
  block: BlockId,
): Promise<void> {
  for (const { orderId, hash } of await listFinalAttempts(db, { chainId, block })) {
    const alert: SenderAlert = { kind: 'reorg_after_final', chainId, orderId, hash }
    if (await openAlert(db, alert, clock.now())) {
      const trace = await traces?.fieldsOf(db, orderId)
      logger.error({ hash, ...trace }, 'the block of a final transaction is gone')
    }
  }
}

/** Some of the open alerts, each once in an interval: what is lost is sent until it is back. */
export async function tendAlerts(context: SenderContext, look: ChainLook): Promise<void> {
  const { db, chainId, clock, policy } = context
  const now = clock.now()
  const since = new Date(now.getTime() - policy.rebroadcastMs)
  const kind = 'reorg_after_final'
  const alerts = await takeAlerts(db, { kind, chainId, since, now, limit: ALERTS_AT_ONCE })
  const found = await Promise.all(alerts.map((alert) => findAttempt(db, alert)))
  const attempts = found.filter((attempt) => attempt !== undefined)
  const seen = await Promise.all(attempts.map((attempt) => findSeen(look, attempt)))
  const lost = attempts.filter((_, at) => seen[at] === undefined)
  await sendAll(context, look.quorum, lost)
  for (const [at, attempt] of attempts.entries()) {
    const again = seen[at]
    if (again !== undefined) await heal(context, { look, attempt, seen: again })
  }
}

/** All of them travel in one request. */
const ALERTS_AT_ONCE = 32

async function heal(
  { db, chainId, clock }: SenderContext,
  { look, attempt, seen }: { look: ChainLook; attempt: Attempt; seen: CanonicalReceipt },
): Promise<void> {
  const { id, hash } = attempt
  const isFinal = look.final !== undefined && seen.block.number <= look.final.number
  // The same transaction with another result repairs nothing: the alert stays open for an operator.
  if (!isFinal || seen.block.succeeded !== attempt.block?.succeeded) return
  await db.transaction().execute(async (transaction) => {
    await recordBlock(transaction, { id, from: 'final', to: 'final', block: seen.block })
    await closeAlert(transaction, { kind: 'reorg_after_final', chainId, hash }, clock.now())
  })
}
