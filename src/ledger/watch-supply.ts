import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import { codeOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop } from '../base/loop.ts'
import { BlockReplacedError, type TimedBlock } from '../chain/read/blocks.ts'
import type { ReadFinal } from '../chain/read/final.ts'
import type { SupplyReader } from '../chain/read/supply.ts'
import type { Db } from '../store/database/database.ts'
import {
  listEventsAbove,
  moveTokenCursor,
  readIssued,
  readTokenCursor,
  storeSolvency,
  type Solvency,
  type TokenCursor,
} from '../store/ledger/supply.ts'
import type { LedgerContext, Stablecoin } from './context.ts'
import { expireRedeems } from './redeems.ts'
import { closeDisagreement, followDrift, openDisagreement, openReplaced } from './supply-breaks.ts'
import { settleSupplyEvent } from './supply.ts'

export type SupplyWatch = {
  /** Reads the final blocks that were not read yet; true while there are more. */
  pass: (signal: AbortSignal) => Promise<boolean>
  /** One pass after the other until the signal ends it. */
  run: (signal: AbortSignal) => Promise<void>
}

export type WatchDeps = {
  db: Db
  context: LedgerContext
  stablecoin: Stablecoin
  readFinal: ReadFinal
  supply: SupplyReader
  clock: Clock
  logger: Logger
  pollIntervalMs: number
  /** Rung when something happened in a final block. */
  bell?: Bell | undefined
  /** Called when a burn was settled, for which a wire may be due. */
  onBurnt?: () => void
  /** The first block that is read; before it there is no event of ours. */
  startBlock?: bigint | undefined
  /** Called at the end of each pass. */
  onProgress?: () => void
}

/**
 * Reads mints and burns of the stablecoin from final blocks, and compares the supply with the
 * ledger. Any number of processes may do it at once: each event counts once, by its key.
 */
export function createSupplyWatch(deps: WatchDeps): SupplyWatch {
  const { clock, logger, bell, pollIntervalMs: intervalMs, onProgress } = deps
  const pass = (signal: AbortSignal): Promise<boolean> => passWithEyes(deps, signal)
  const loop = createLoop({
    name: 'supply watch',
    clock,
    logger,
    bell,
    intervalMs,
    onProgress,
    pass: async (signal) => (await pass(signal)) || Infinity,
  })
  return { pass, run: loop.run }
}

/** So many blocks at most between two places of the cursor. */
const MAX_BLOCKS = 50_000n

/** How far to go back where a block that was final is gone, which should not happen. */
const REWIND_BLOCKS = 256n

/** While the providers contradict each other nothing is concluded, and a break says so. */
async function passWithEyes(deps: WatchDeps, signal: AbortSignal): Promise<boolean> {
  const { db, stablecoin, clock } = deps
  try {
    return await runPass(deps, signal)
  } catch (error) {
    if (codeOf(error) === 'providers_differ') {
      await openDisagreement(db, { chainId: stablecoin.chainId, now: clock.now() })
    }
    throw error
  }
}

async function runPass(deps: WatchDeps, signal: AbortSignal): Promise<boolean> {
  const { db, readFinal, supply, stablecoin } = deps
  const final = await readFinal(signal)
  const cursor = await readTokenCursor(db, stablecoin)
  if (final === undefined) return false
  const from = cursor === undefined ? firstOf(deps, final) : cursor.blockNumber + 1n
  if (final < from) return false
  if (cursor !== undefined && !(await isSame(deps, cursor, signal))) {
    await rewind(deps, cursor, signal)
    return true
  }
  const to = final < from + MAX_BLOCKS ? final : from + MAX_BLOCKS - 1n
  const last = await supply.block(to, signal)
  if (last === undefined) return false
  await readRange(deps, { from, to }, signal)
  await expireRedeems(deps.context, db, { ...stablecoin, at: last.time })
  await moveOn(deps, { cursor, last, isLatest: to === final, signal })
  return to < final
}

/** What an issuer among others did before this installation is not in its ledger. */
function firstOf({ stablecoin, startBlock = 0n }: WatchDeps, final: bigint): bigint {
  return stablecoin.issuer === undefined ? startBlock : final
}

async function isSame(
  { supply }: WatchDeps,
  cursor: TokenCursor,
  signal: AbortSignal,
): Promise<boolean> {
  return (await supply.block(cursor.blockNumber, signal))?.hash === cursor.blockHash
}

/** Events that are read twice count once; for each whose block is gone a break opens. */
async function rewind(deps: WatchDeps, cursor: TokenCursor, signal: AbortSignal): Promise<void> {
  const { db, supply, stablecoin, logger } = deps
  logger.error({ block: String(cursor.blockNumber) }, 'a final block was replaced by another')
  const back = cursor.blockNumber > REWIND_BLOCKS ? cursor.blockNumber - REWIND_BLOCKS : 0n
  const block = await supply.block(back, signal)
  if (block === undefined) return
  await openReplacedAbove(deps, back, signal)
  const to = { blockNumber: block.number, blockHash: block.hash }
  await moveTokenCursor(db, stablecoin, { from: cursor, to })
}

async function openReplacedAbove(
  { db, supply, stablecoin, clock, logger }: WatchDeps,
  blockNumber: bigint,
  signal: AbortSignal,
): Promise<void> {
  const { chainId } = stablecoin
  for (const event of await listEventsAbove(db, stablecoin, { blockNumber, limit: MAX_REPLACED })) {
    const { hash: blockHash } = (await supply.block(event.blockNumber, signal)) ?? {}
    if (blockHash === event.blockHash) continue
    const { transactionHash: hash, kind } = event
    logger.error({ hash, kind }, 'the final block of a mint or a burn is gone')
    await openReplaced(db, { chainId, event, blockHash, now: clock.now() })
  }
}

const MAX_REPLACED = 1_000

async function readRange(
  deps: WatchDeps,
  range: { from: bigint; to: bigint },
  signal: AbortSignal,
): Promise<void> {
  const { db, context, stablecoin, supply, logger } = deps
  let block: TimedBlock | undefined
  for (const event of await supply.events(range, signal)) {
    if (block?.number !== event.blockNumber) block = await supply.block(event.blockNumber, signal)
    // The logs were read before the block: another one may stand there now.
    if (block === undefined || block.hash !== event.blockHash) throw new BlockReplacedError()
    const finding = await settleSupplyEvent(db, { context, stablecoin, event, block })
    if (event.kind === 'burn') deps.onBurnt?.()
    if (finding === undefined) continue
    const { transactionHash, kind } = event
    logger.error({ finding, kind, hash: transactionHash }, 'a mint or a burn fits no order')
  }
}

type Moving = {
  cursor: TokenCursor | undefined
  last: TimedBlock
  isLatest: boolean
  signal: AbortSignal
}

/** Supply is compared at the head of what is final; an older state few nodes still have. */
async function moveOn(deps: WatchDeps, { cursor, last, isLatest, signal }: Moving): Promise<void> {
  const { db, supply, stablecoin, clock, logger } = deps
  const seenThere = isLatest ? await supply.supplyAt(last.number, signal) : undefined
  const solvency = await db.transaction().execute(async (open) => {
    const to = { blockNumber: last.number, blockHash: last.hash }
    const isMoved = await moveTokenCursor(open, stablecoin, { from: cursor, to })
    if (!isMoved || seenThere === undefined) return undefined
    const issuer = stablecoin.issuer?.address
    const total =
      issuer === undefined
        ? seenThere
        : await readIssued(open, stablecoin, { issuer, held: seenThere })
    const now = clock.now()
    const seen = { blockNumber: last.number, supply: total, now }
    const solvency = await storeSolvency(open, stablecoin, seen)
    await closeDisagreement(open, { chainId: stablecoin.chainId, now })
    if (solvency !== undefined) {
      await followDrift(open, { chainId: stablecoin.chainId, solvency, now })
    }
    return solvency
  })
  if (solvency !== undefined && solvency.drift !== 0n) report(logger, solvency)
}

function report(logger: Logger, { drift, supply, liability, blockNumber }: Solvency): void {
  const [at, off, has, owed] = [blockNumber, drift, supply, liability].map(String)
  const figures = { block: at, drift: off, supply: has, liability: owed }
  logger.error(figures, 'the supply on the chain is not what the ledger owes')
}
