import { systemClock } from '../../base/clock.ts'
import type { Config } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { findRunning } from '../../base/ready.ts'
import type { Finding } from '../../domain/breaks.ts'
import { reportJson, type ReportJson } from '../../reconciler/reports/json.ts'
import type { RunWire } from '../../wire/group-b/reconciliation.ts'
import { withDatabaseDesk } from './on-database.ts'
import { createServerDesk, type Desk } from './on-server.ts'
import { createReportFiles, type ReportFiles } from './report-files.ts'

export type OwnRequest = {
  /** As it is for the chain whose records are wanted. */
  config: Config
  /** By its name; absent: the default one. */
  chain?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
  /** The folder for the files of the report. */
  out?: string | undefined
  signal: AbortSignal
  onProgress: (state: { done: number; total: number | undefined; counted: number }) => void
}

const POLL_MS = 250
/** As for a file: the CSV has all. */
const MAX_KEPT = 100_000

/**
 * Reconciles our own records: by the program that runs here, or by this process where only the
 * database is named. A run that is given up goes on with the next worker.
 */
export async function reconcileOwn(request: OwnRequest): Promise<ReportJson> {
  const { config, chain, signal } = request
  const facts = findRunning(config.dataFolder)
  if (facts?.url !== undefined && facts.admin !== undefined) {
    const { url, admin, chains: [usual] = [] } = facts
    const desk = createServerDesk({
      url,
      chain: chain ?? usual?.name,
      // Of one that is configured and away, the server says so.
      chainId: chain === undefined ? facts.chainId : (config.chainId ?? facts.chainId),
      apiKey: admin.apiKey,
      signal,
    })
    return follow(desk, request)
  }
  if (config.databaseUrl === undefined) throw new NoRecordsError(config.dataFolder)
  return withDatabaseDesk({ config, signal }, (desk) => follow(desk, request))
}

async function follow(desk: Desk, request: OwnRequest): Promise<ReportJson> {
  const { signal, since, until, onProgress } = request
  const startedAt = performance.now()
  const files = await createReportFiles(request.out)
  let run = await desk.begin({ since, until })
  while (run.ended_at === null) {
    await systemClock.sleep(POLL_MS, signal)
    signal.throwIfAborted()
    run = await desk.read(run.run_id)
    const { records, records_expected: total } = run
    onProgress({ done: records, total, counted: records })
  }
  if (run.state === 'failed') throw new RunFailedError(run)
  const open = await readOpenBreaks(desk, files.add)
  const report = reportJson({
    totals: { ...totalsOf(run), breaks: open.count, byKind: open.byKind },
    findings: open.findings,
    unreadable: [],
    uncompared: [],
    chainId: desk.chainId,
    source: run.source,
    elapsedMs: Math.round(performance.now() - startedAt),
  })
  await files.finish(report)
  return report
}

function totalsOf(run: RunWire) {
  const { records, matched, pending, pending_by_cause: byCause } = run
  const { not_compared: notCompared, not_compared_by_reason: byReason } = run
  return { records, matched, pending, byCause, notCompared, byReason, unreadable: 0, repeated: 0 }
}

type OpenBreaks = { count: number; byKind: Record<string, number>; findings: Finding[] }

async function readOpenBreaks(desk: Desk, add: ReportFiles['add']): Promise<OpenBreaks> {
  const open: OpenBreaks = { count: 0, byKind: {}, findings: [] }
  let cursor: string | undefined
  do {
    const { findings, next } = await desk.openBreaks(cursor)
    await add({ findings })
    open.count += findings.length
    open.findings.push(...findings.slice(0, MAX_KEPT - open.findings.length))
    for (const { kind } of findings) open.byKind[kind] = (open.byKind[kind] ?? 0) + 1
    cursor = next
  } while (cursor !== undefined)
  return open
}

class NoRecordsError extends BaseError {
  constructor(folder: string) {
    super(
      `No program runs on ${folder}. Start it (npm start), set DATABASE_URL, ` +
        'or pass a file or a server with --source.',
      { code: 'records_missing' },
    )
  }
}

class RunFailedError extends BaseError {
  constructor({ run_id: runId, error }: RunWire) {
    super(`The run ${runId} failed: ${error ?? 'it gives no reason'}`, {
      code: 'run_failed',
      details: { runId },
    })
  }
}
