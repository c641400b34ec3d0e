import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Hex } from '../chain/hex.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import type { Finding } from '../domain/breaks.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { Db } from '../store/database/database.ts'
import {
  keepOfSigner,
  recordFindings,
  resolveKinds,
  resolveTransactions,
  resolveUnattached,
  withoutSeen,
  type Seeing,
} from '../store/reconciliation/breaks.ts'
import { countRecorded, isOurHash } from '../store/reconciliation/recorded-payments.ts'
import {
  advanceRun,
  RUN_PHASES,
  type RunLease,
  type RunPhase,
} from '../store/reconciliation/runs.ts'
import type { Panel } from './chain/agree.ts'
import type { Node } from './chain/node.ts'
import { createDuplicates } from './judge/duplicates.ts'
import type { Examiner } from './judge/examine.ts'
import { emptyTotals, reconcile, remember, type RunTotals } from './reconcile.ts'
import { createStoreSource, readShared } from './sources/store.ts'
import { findAlerted, findStraySettlements, findUnknownOutgoing, type StrayPart } from './strays.ts'
import { isSweepStanding, sweep } from './sweep.ts'

export type RunsDeps = {
  db: Db
  chainId: number
  examiner: Examiner
  nodes: readonly Node[]
  /** In the order of the nodes. */
  providers: readonly Provider[]
  settlement: Hex | undefined
  clock: Clock
  logger: Logger
  randomBytes: RandomBytes
  /** How long after a run began the next one begins, unless that one took long. */
  everyMs: number
  pollMs: number
  /** Rung where a run was asked for. */
  bell?: Bell | undefined
  chunkRecords?: number
  /** How long a run is left to a worker that does not say that it lives. */
  leaseMs?: number
  /** Called at the end of each pass, and of each step within a run. */
  onProgress?: () => void
}

export type PerformDeps = RunsDeps & { leaseMs: number; signal: AbortSignal }

/** What one run carries from phase to phase; all of it is in its row after each step. */
type Performance = PerformDeps & {
  lease: RunLease
  panel: Panel
  totals: RunTotals
  cursor: string | undefined
}

/**
 * Performs a run from where its row says it is to its end. Each step stores what it found together
 * with the place behind it, so that one that is killed repeats at most its last step.
 */
export async function performRun(deps: PerformDeps, lease: RunLease): Promise<void> {
  const { run } = lease
  const panel = await deps.examiner.look(deps.signal)
  const performance: Performance = {
    ...deps,
    lease,
    panel,
    totals: { ...emptyTotals(), ...run.totals },
    cursor: run.cursor,
  }
  for (const phase of RUN_PHASES.slice(RUN_PHASES.indexOf(run.phase))) {
    await PHASES[phase](performance)
    performance.cursor = undefined
    const next = RUN_PHASES[RUN_PHASES.indexOf(phase) + 1]
    if (next !== undefined) await advance(performance, deps.db, next)
  }
}

const PHASES: Record<RunPhase, (performance: Performance) => Promise<void>> = {
  sweep: async (performance) => {
    const { settlement, db, lease, chainId } = performance
    const { since, until } = lease.run
    const expected = await countRecorded(db, { chainId, since, until })
    await advance(performance, db, 'sweep', expected)
    if (settlement === undefined) return
    const onPart = () => advance(performance, db, 'sweep')
    await sweep({ ...performance, contract: settlement, onPart })
  },
  records: performRecords,
  repeats: async (performance) => {
    const parts = findStraySettlements(performance, performance.cursor)
    await performParts(performance, 'repeats', parts)
  },
  nonces: async (performance) => {
    const { db, lease } = performance
    await performParts(performance, 'nonces', findUnknownOutgoing(performance, performance.cursor))
    const alerted = await findAlerted(performance)
    await db.transaction().execute(async (transaction) => {
      const seeing = seeingOf(performance)
      await recordStrays(performance, transaction, alerted)
      // Part of the records, or of the time, says nothing of the breaks in the rest.
      const isWhole = lease.run.since === undefined && lease.run.until === undefined
      if (isWhole) {
        await resolveUnattached(transaction, seeing)
        await resolveKinds(transaction, ['duplicate_payment'], seeing)
      }
      await advance(performance, transaction, 'nonces')
    })
  },
}

async function performRecords(performance: Performance): Promise<void> {
  const { db, chainId, examiner, signal, lease, totals, cursor, chunkRecords } = performance
  const { since, until, expected } = lease.run
  const { settlement: contract } = performance
  const isSwept = contract !== undefined && (await isSweepStanding({ ...performance, contract }))
  const source = createStoreSource(db, {
    chainId,
    since,
    until,
    expected,
    isSwept,
    ...(chunkRecords !== undefined && { chunkRecords }),
  })
  const duplicates = createDuplicates()
  if (cursor !== undefined) {
    const before = { chainId, since, until, before: cursor, signal }
    for await (const records of readShared(db, before)) {
      await remember(records, { examiner, duplicates, signal })
    }
  }
  await reconcile({
    source,
    examiner,
    signal,
    from: { cursor, totals, duplicates },
    isOurs: (hash) => isOurHash(db, { chainId, hash }),
    onChunk: ({ findings, concluded, cursor }) =>
      db.transaction().execute(async (transaction) => {
        const seeing = seeingOf(performance)
        await recordFindings(transaction, findings, seeing)
        await resolveTransactions(transaction, concluded, seeing)
        performance.cursor = cursor
        await advance(performance, transaction, 'records')
      }),
    // Nothing is left for the end where the tables say whose a transaction is.
    onEnd: () => undefined,
  })
}

async function performParts(
  performance: Performance,
  phase: RunPhase,
  parts: AsyncIterable<StrayPart>,
): Promise<void> {
  for await (const { findings, cursor, unsure } of parts) {
    await performance.db.transaction().execute(async (transaction) => {
      await recordStrays(performance, transaction, findings)
      if (unsure !== undefined) await keepOfSigner(transaction, unsure, seeingOf(performance))
      performance.cursor = cursor
      await advance(performance, transaction, phase)
    })
  }
}

/** What was found by its settlement may be found by its nonce as well: it is one break. */
async function recordStrays(
  performance: Performance,
  db: Db,
  findings: readonly Finding[],
): Promise<void> {
  const seeing = seeingOf(performance)
  const fresh = await withoutSeen(db, findings, seeing)
  await recordFindings(db, fresh, seeing)
  count(performance.totals, fresh)
}

async function advance(
  performance: Performance,
  db: Db,
  phase: RunPhase,
  expected?: bigint,
): Promise<void> {
  const { clock, lease, leaseMs, totals, cursor } = performance
  const now = clock.now()
  const until = new Date(now.getTime() + leaseMs)
  const step = { phase, cursor, totals, now, until }
  await advanceRun(db, lease, { ...step, ...(expected !== undefined && { expected }) })
  performance.onProgress?.()
}

function seeingOf({ chainId, lease, clock }: Performance): Seeing {
  const { id, runId, source } = lease.run
  return { chainId, source, run: id, actor: runId, now: clock.now() }
}

function count(totals: RunTotals, findings: readonly Finding[]): void {
  for (const { kind } of findings) totals.byKind[kind] = (totals.byKind[kind] ?? 0) + 1
  totals.breaks += findings.length
}
