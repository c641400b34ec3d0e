import { createHash } from 'node:crypto'

import { sql, type RawBuilder } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import { chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

export type RunState = 'queued' | 'running' | 'completed' | 'failed'

/** In order: a settlement says more about a payment than its nonce, so it is reported first. */
export const RUN_PHASES = ['sweep', 'records', 'repeats', 'nonces'] as const

export type RunPhase = (typeof RUN_PHASES)[number]

/** One reconciliation pass. */
export type Run = {
  id: bigint
  runId: string
  chainId: number
  /** Its name. */
  chain: string
  source: string
  state: RunState
  phase: RunPhase
  cursor: string | undefined
  /** Counts by name. */
  totals: Readonly<Record<string, unknown>>
  expected: bigint
  since: Date | undefined
  until: Date | undefined
  requestedBy: string
  error: string | undefined
  createdAt: Date
  startedAt: Date | undefined
  updatedAt: Date
  endedAt: Date | undefined
  /** How long workers were at it. */
  workedMs: number
}

const RUN = sql`${columnsOf<Omit<Run, 'chain'>>()(`id, run_id, chain_id::float8, source, state,
  phase, cursor, totals, expected, since_at as since, until_at as until, requested_by,
  error, created_at, started_at, updated_at, ended_at,
  worked_ms::float8`)}, ${chainName('runs.chain_id')} as chain`

/** The right of one worker to write to a run, until another one takes it. */
export type RunLease = { run: Run; fence: bigint }

export async function insertRun(
  db: Db,
  run: Pick<Run, 'runId' | 'chainId' | 'source' | 'since' | 'until' | 'requestedBy'> & {
    now: Date
  },
): Promise<Run> {
  return (await readOne<Run>(db)`
    insert into runs (run_id, chain_id, source, since_at, until_at, requested_by, created_at,
      updated_at)
    values (${run.runId}, ${run.chainId}, ${run.source}, ${run.since ?? null},
      ${run.until ?? null}, ${run.requestedBy}, ${run.now}, ${run.now})
    returning ${RUN}`)!
}

export async function findRun(db: Db, runId: string): Promise<Run | undefined> {
  return readOne<Run>(db)`select ${RUN} from runs where run_id = ${runId}`
}

/** The newest first, before the one with that id where one is given. */
export async function listRuns(
  db: Db,
  page: { chainId: number | undefined; before: bigint | undefined; limit: number },
): Promise<Run[]> {
  return readAll<Run>(db)`
    select ${RUN} from runs
    where ${page.chainId === undefined ? sql`true` : sql`chain_id = ${page.chainId}`}
      ${page.before === undefined ? sql`` : sql`and id < ${page.before}`}
    order by id desc limit ${page.limit}`
}

/** The newest that is neither completed nor failed, or else the newest of all. */
export async function latestRun(
  db: Db,
  of: { chainId: number; source: string },
): Promise<Run | undefined> {
  return readOne<Run>(db)`
    select ${RUN} from runs where chain_id = ${of.chainId} and source = ${of.source}
    order by (ended_at is null) desc, id desc limit 1`
}

/** Takes the oldest run over the source that nobody works on. */
export async function leaseRun(
  db: Db,
  lease: { chainId: number; source: string; now: Date; until: Date },
): Promise<RunLease | undefined> {
  const leased = await readOne<Run & Pick<RunLease, 'fence'>>(db)`
    update runs set state = 'running', fence = fence + 1, leased_until = ${lease.until},
      started_at = coalesce(started_at, ${lease.now}), updated_at = ${lease.now}
    where id = (
      select id from runs
      where chain_id = ${lease.chainId} and source = ${lease.source}
        and state in ('queued', 'running')
        and leased_until < ${lease.now}
      order by id limit 1 for update skip locked
    )
    returning ${RUN}, fence`
  if (leased === undefined) return undefined
  const { fence, ...run } = leased
  return { run, fence }
}

/** Since it was taken, or moved on last. */
function worked(now: Date): RawBuilder<unknown> {
  return sql`updated_at = ${now}, worked_ms = worked_ms + greatest(0, round(1000 *
    extract(epoch from ${now}::timestamptz - updated_at)))`
}

/** Moves the cursor on, in the transaction that stores what was found up to it. */
export async function advanceRun(
  db: Db,
  lease: RunLease,
  step: Pick<Run, 'phase' | 'totals'> & {
    cursor: string | undefined
    expected?: bigint
    now: Date
    until: Date
  },
): Promise<void> {
  const { rows } = await sql`
    update runs set phase = ${step.phase}, cursor = ${step.cursor ?? null},
      totals = ${JSON.stringify(step.totals)}::jsonb, leased_until = ${step.until},
      expected = coalesce(${step.expected ?? null}::bigint, expected), ${worked(step.now)}
    where id = ${lease.run.id} and fence = ${lease.fence} and state = 'running'
    returning 1`.execute(db)
  if (rows.length !== 1) throw runLost(lease)
}

/** While the worker lives, however long a step of it takes. */
export async function renewRun(db: Db, lease: RunLease, until: Date): Promise<void> {
  await sql`
    update runs set leased_until = ${until}
    where id = ${lease.run.id} and fence = ${lease.fence} and state = 'running'`.execute(db)
}

export async function endRun(
  db: Db,
  lease: RunLease,
  end: { state: 'completed' | 'failed'; error?: string; now: Date },
): Promise<void> {
  const { rows } = await sql`
    update runs set state = ${end.state}, error = ${end.error?.slice(0, 1000) ?? null},
      ended_at = ${end.now}, ${worked(end.now)}
    where id = ${lease.run.id} and fence = ${lease.fence} and state = 'running'
    returning 1`.execute(db)
  if (rows.length !== 1) throw runLost(lease)
}

/** Another worker may go on with it at once. */
export async function releaseRun(db: Db, lease: RunLease): Promise<void> {
  await sql`
    update runs set leased_until = '-infinity'
    where id = ${lease.run.id} and fence = ${lease.fence} and state = 'running'`.execute(db)
}

function runLost({ run }: RunLease): BaseError {
  return new BaseError(`Another worker took the run ${run.runId}. Leave it to that one.`, {
    code: 'run_lost',
    retryable: true,
    details: { runId: run.runId },
  })
}

/** What finds breaks by itself, without a run of reconciliation. */
export type WatchSource = 'supply' | 'checkouts' | 'deposits' | 'balances'

/**
 * The one run of a watch, by the name under which it stands among those that find breaks. It never
 * ends and is never taken by a worker: every break names the run that saw it.
 */
export async function ensureWatchRun(
  db: Db,
  watch: { source: WatchSource; chainId: number; now: Date },
): Promise<bigint> {
  const { source, chainId, now } = watch
  const digest = createHash('sha256').update(`${source}/${chainId}`).digest('hex')
  const runId = `RUN${digest.slice(0, 24)}`
  const { rows } = await sql<{ id: bigint }>`
    insert into runs (run_id, chain_id, source, state, requested_by, created_at, started_at,
      updated_at, ended_at)
    values (${runId}, ${chainId}, ${source}, 'completed', ${`the watch over the ${source}`},
      ${now}, ${now}, ${now}, ${now})
    on conflict (run_id) do update set updated_at = excluded.updated_at
    returning id`.execute(db)
  return rows[0]!.id
}
