import { useState } from 'preact/hooks'

import type { BreakWire, RunWire } from '../../wire/group-b/reconciliation.ts'
import { useAct } from '../act.ts'
import type { Api } from '../api.ts'
import { useInterval, useLoaded, usePlatform } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { saveFile } from '../parts/save-file.ts'
import { groupDigits, plural, sentenceOf } from '../parts/format.ts'
import { Who } from '../parts/names.tsx'
import { Back, Badge, Empty, Failure, Heading, LoadState, Panel, Time } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging } from './paging.tsx'

type RunList = { runs: RunWire[]; next_cursor: string | null }

const REFRESH_MS = 1000

/** Passes over all records, each with how far it is. */
export function RunsScreen() {
  const { api } = usePlatform()
  const [cursor, setCursor] = useState<string>()
  const { act, isBusy, error } = useAct()
  const list = useLoaded(`runs ${cursor}`, (api, signal) =>
    api.get<RunList>('/api/runs', { signal, query: { cursor, limit: 20 } }),
  )
  useInterval(list.reload, REFRESH_MS)
  const start = async (): Promise<void> => {
    await api.post('/api/runs')
    list.reload()
  }
  const { data } = list
  const button = (
    <button type="button" class="primary" disabled={isBusy} onClick={() => act(start)}>
      Run now
    </button>
  )
  return (
    <>
      <Heading aside={button}>Reconciliation runs</Heading>
      {error !== undefined && <Failure error={error} />}
      <CardList
        of={list}
        what="runs"
        rows={data?.runs}
        keyOf={(run) => run.run_id}
        columns={COLUMNS}
      >
        <Empty title="No runs yet">
          <p>Run one now: it compares every record with the chain.</p>
        </Empty>
      </CardList>
      <Paging cursor={cursor} next={data?.next_cursor} onGo={setCursor} />
    </>
  )
}

const COLUMNS: Columns<RunWire> = {
  Requested: (run) => (
    <a href={hashOf(['runs', run.run_id])}>
      <Time iso={run.created_at} />
    </a>
  ),
  State: (run) => (
    <>
      <Badge state={run.state} />
      {run.error !== null && <p class="faint">{run.error}</p>}
    </>
  ),
  Records: (run) => <Progress run={run} />,
  Found: (run) => <Found run={run} />,
  By: (run) => <Who actor={run.requested_by} />,
}

function Progress({ run }: { run: RunWire }) {
  const words = `${groupDigits(run.records)} of ${groupDigits(run.records_expected)}`
  if (run.state !== 'running') return <>{words}</>
  return (
    <>
      {sentenceOf(run.phase)}: {words}{' '}
      <progress
        max={Math.max(run.records_expected, 1)}
        value={run.records}
        aria-label="Records compared"
      />
    </>
  )
}

function Found({ run }: { run: RunWire }) {
  const { matched, pending, not_compared: uncompared } = run
  const unsaid = uncompared === 0 ? '' : `, ${uncompared} not compared`
  const agreed = `${plural(matched, 'match', 'matches')}, ${pending} pending${unsaid}`
  if (run.breaks === 0) return <>{agreed}, no break</>
  return (
    <>
      {agreed}, <a href={hashOf(['breaks'])}>{plural(run.breaks, 'break')}</a>
    </>
  )
}

/** One pass: what it looked at, what it found, and its report as a file. */
export function RunScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  const loaded = useLoaded(`run ${id}`, (api, signal) =>
    api.get<{ run: RunWire }>(`/api/runs/${encodeURIComponent(id)}`, { signal }),
  )
  const run = loaded.data?.run
  useInterval(() => {
    if (run?.state === 'queued' || run?.state === 'running') loaded.reload()
  }, REFRESH_MS)
  const button = run?.state === 'completed' && (
    <button
      type="button"
      class="primary"
      disabled={isBusy}
      onClick={() => act(() => saveReport(api, run))}
    >
      Download the report
    </button>
  )
  return (
    <>
      <Back to="runs">All runs</Back>
      <Heading aside={button}>Reconciliation run</Heading>
      {error !== undefined && <Failure error={error} />}
      <LoadState of={loaded} what="the run" />
      {run && (
        <div class="panels two">
          <Panel title="Run" facts={factsOf(run)} />
          <Panel title="Found" facts={foundOf(run)} />
        </div>
      )}
    </>
  )
}

function factsOf(run: RunWire) {
  const { since, until, started_at: startedAt, ended_at: endedAt } = run
  return [
    ['Id', <code>{run.run_id}</code>],
    ['State', <Badge state={run.state} />],
    ...(run.error === null ? [] : [['Failed because', run.error] as const]),
    ['Records', <Progress run={run} />],
    ['Requested by', <Who actor={run.requested_by} />],
    ['Requested', <Time iso={run.created_at} />],
    ...(startedAt === null ? [] : [['Started', <Time iso={startedAt} />] as const]),
    ...(endedAt === null ? [] : [['Ended', <Time iso={endedAt} />] as const]),
    ...(since === null ? [] : [['Records since', <Time iso={since} />] as const]),
    ...(until === null ? [] : [['Records before', <Time iso={until} />] as const]),
  ] as const
}

function counts(of: Readonly<Record<string, number>>) {
  return Object.entries(of).map(
    ([name, count]) => [`· ${sentenceOf(name)}`, groupDigits(count)] as const,
  )
}

function foundOf(run: RunWire) {
  return [
    ['Matched', groupDigits(run.matched)],
    ['Pending', groupDigits(run.pending)],
    ...counts(run.pending_by_cause),
    ['Not compared', groupDigits(run.not_compared)],
    ...counts(run.not_compared_by_reason),
    ['Breaks', <a href={hashOf(['breaks'])}>{groupDigits(run.breaks)}</a>],
    ...counts(run.breaks_by_kind),
  ] as const
}

/** The run, and what is open now; the newest first. */
async function saveReport(api: Api, run: RunWire): Promise<void> {
  const breaks: BreakWire[] = []
  for (let cursor: string | undefined, pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await api.get<{ breaks: BreakWire[]; next_cursor: string | null }>('/api/breaks', {
      query: { state: 'open', limit: 100, cursor },
    })
    breaks.push(...page.breaks)
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  const report = { run, open_breaks: breaks, made_at: new Date().toISOString() }
  const body = JSON.stringify(report, null, 2)
  saveFile({ name: `${run.run_id}.json`, type: 'application/json', body })
}

/** A report of more breaks is made by `quittance reconcile --out`. */
const MOST_PAGES = 100
