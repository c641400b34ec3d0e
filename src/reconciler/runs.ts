import { systemClock } from '../base/clock.ts'
import { codeOf, messageOf } from '../base/errors.ts'
import { createLoop } from '../base/loop.ts'
import {
  endRun,
  insertRun,
  latestRun,
  leaseRun,
  releaseRun,
  renewRun,
  type Run,
  type RunLease,
} from '../store/reconciliation/runs.ts'
import { performRun, type RunsDeps } from './perform.ts'

/** The runs over our own records: a request for one writes a row, and a worker takes it. */
export type Runs = {
  /** Takes the next run that waits, or that a stopped worker left. False: there is none. */
  pass: (signal: AbortSignal) => Promise<boolean>
  /** Begins a run when it is time, and takes what waits, until the signal ends it. */
  run: (signal: AbortSignal) => Promise<void>
}

export type RunRequest = {
  chainId: number
  requestedBy: string
  since?: Date | undefined
  until?: Date | undefined
}

export const STORE = 'store'
const LEASE_MS = 60_000
/** So often in that time a worker says that it lives. */
const RENEWALS = 4

/** Asks for a run; a worker begins it soon. */
export function requestRun(
  { db, clock, randomBytes }: Pick<RunsDeps, 'db' | 'clock' | 'randomBytes'>,
  { chainId, requestedBy, since, until }: RunRequest,
): Promise<Run> {
  const runId = `RUN${Buffer.from(randomBytes(12)).toString('hex')}`
  return insertRun(db, {
    runId,
    chainId,
    source: STORE,
    since,
    until,
    requestedBy,
    now: clock.now(),
  })
}

export function createRuns(deps: RunsDeps): Runs {
  const { clock, logger, pollMs: intervalMs, onProgress } = deps
  const loop = createLoop({
    name: 'reconciliation',
    clock,
    logger,
    intervalMs,
    bell: deps.bell,
    onProgress,
    async pass(signal) {
      const restMs = await beginWhenDue(deps)
      while (!signal.aborted && (await takeNext(deps, signal)));
      return restMs
    },
  })
  return {
    pass: (signal) => takeNext(deps, signal),
    run: loop.run,
  }
}

/** Begins one run at a time. Returns the milliseconds until the next one is due. */
async function beginWhenDue(deps: RunsDeps): Promise<number | undefined> {
  const { db, chainId, clock, everyMs } = deps
  const latest = await latestRun(db, { chainId, source: STORE })
  if (latest !== undefined && latest.endedAt === undefined) return undefined
  const dueMs = latest === undefined ? 0 : nextAfter(latest, everyMs)
  const restMs = dueMs - clock.now().getTime()
  if (restMs > 0) return restMs
  await requestRun(deps, { chainId, requestedBy: 'schedule' })
  return undefined
}

/** What grows with all that was ever recorded takes a tenth of the time, but is due once a day. */
const SHARE = 10
const MAX_PAUSE_MS = 24 * 3_600_000

function nextAfter({ createdAt, workedMs, endedAt = createdAt }: Run, everyMs: number): number {
  const pauseMs = Math.min((SHARE - 1) * workedMs, MAX_PAUSE_MS)
  return Math.max(createdAt.getTime() + everyMs, endedAt.getTime() + pauseMs)
}

async function takeNext(deps: RunsDeps, signal: AbortSignal): Promise<boolean> {
  const { db, chainId, clock, logger, leaseMs = LEASE_MS } = deps
  const now = clock.now()
  const until = new Date(now.getTime() + leaseMs)
  const lease = await leaseRun(db, { chainId, source: STORE, now, until })
  if (lease === undefined) return false
  try {
    const work = () => performRun({ ...deps, leaseMs, signal }, lease)
    await whileRenewed({ ...deps, leaseMs }, lease, work)
    await endRun(db, lease, { state: 'completed', now: clock.now() })
    return true
  } catch (error) {
    await giveUp(deps, { lease, error, signal })
    if (signal.aborted) return false
    logger.warn({ run: lease.run.runId, reason: messageOf(error) }, 'a reconciliation run failed')
    return true
  }
}

/**
 * Missing renewals show that a worker was killed; a long step does not. A worker that is only slow
 * loses just its turn: the next worker that takes the run raises its fence.
 */
async function whileRenewed(
  deps: RunsDeps & { leaseMs: number },
  lease: RunLease,
  work: () => Promise<void>,
): Promise<void> {
  const ended = new AbortController()
  const renewing = renew(deps, lease, ended.signal)
  try {
    await work()
  } finally {
    // Renewals end before the lease is given back: a later one would take it again.
    ended.abort()
    await renewing
  }
}

/** It waits in real time, as the other processes do. */
async function renew(
  { db, clock, logger, leaseMs }: RunsDeps & { leaseMs: number },
  lease: RunLease,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await systemClock.sleep(leaseMs / RENEWALS, signal)
    if (signal.aborted) return
    try {
      await renewRun(db, lease, new Date(clock.now().getTime() + leaseMs))
    } catch (error) {
      logger.warn({ err: error }, 'the lease of a reconciliation run was not renewed')
    }
  }
}

/** Another worker continues a stopped run. A failed run says why, and the next may succeed. */
async function giveUp(
  { db, clock }: RunsDeps,
  { lease, error, signal }: { lease: RunLease; error: unknown; signal: AbortSignal },
): Promise<void> {
  if (codeOf(error) === 'run_lost') return
  if (signal.aborted) await releaseRun(db, lease)
  else await endRun(db, lease, { state: 'failed', error: messageOf(error), now: clock.now() })
}
