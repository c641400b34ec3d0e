import { useState } from 'preact/hooks'

import type { RunWire } from '../../wire/group-b/reconciliation.ts'
import { useAct } from '../act.ts'
import { useInterval, useLoaded, usePlatform } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { plural, sentenceOf } from '../parts/format.ts'
import { Badge, Empty, Failure, Heading, Time } from '../parts/parts.tsx'
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
        <Empty title="There was no run yet">
          <p>Run one now: it holds every record against the chain.</p>
        </Empty>
      </CardList>
      <Paging cursor={cursor} next={data?.next_cursor} onGo={setCursor} />
    </>
  )
}

const COLUMNS: Columns<RunWire> = {
  'Asked for': (run) => <Time iso={run.created_at} />,
  State: (run) => (
    <>
      <Badge state={run.state} />
      {run.error !== null && <p class="faint">{run.error}</p>}
    </>
  ),
  Records: (run) => <Progress run={run} />,
  Found: (run) => <Found run={run} />,
  By: (run) => run.requested_by,
}

function Progress({ run }: { run: RunWire }) {
  const words = `${run.records.toLocaleString()} of ${run.records_expected.toLocaleString()}`
  if (run.state !== 'running') return <>{words}</>
  return (
    <>
      {sentenceOf(run.phase)}: {words}{' '}
      <progress
        max={Math.max(run.records_expected, 1)}
        value={run.records}
        aria-label="Records that were looked at"
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
