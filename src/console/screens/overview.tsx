import type { OverviewWire } from '../../wire/group-b/admin.ts'
import type { SolvencyWire } from '../../wire/group-b/solvency.ts'
import { ApiFailure } from '../api.ts'
import { useEvents, useInterval, useLoaded, useThrottled } from '../context.ts'
import { formatDuration, groupDigits, plural, sentenceOf } from '../parts/format.ts'
import {
  Amount,
  Badge,
  Empty,
  Facts,
  Heading,
  Loading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import { hashOf } from '../route.ts'
import { judgeOverview } from '../verdict.ts'
import type { BreakList } from './breaks.tsx'
import { OverviewCharts } from './overview-charts.tsx'
import { useUndecided } from './undecided-payments.tsx'

const REFRESH_MS = 10_000

/** In five seconds: do the books and the chain agree, and what waits? */
export function OverviewScreen() {
  const overview = useLoaded('overview', (api, signal) =>
    api.get<OverviewWire>('/api/admin/overview', { signal }),
  )
  const breaks = useLoaded('open breaks', (api, signal) =>
    api.get<BreakList>('/api/breaks', { signal, query: { state: 'open', limit: 100 } }),
  )
  const solvency = useLoaded('solvency', (api, signal) =>
    api.get<SolvencyWire>('/api/solvency', { signal }),
  )
  const undecided = useUndecided()
  const reload = (): void => {
    for (const one of [overview, breaks, solvency, undecided]) one.reload()
  }
  const refresh = useThrottled(() => {
    overview.reload()
    undecided.reload()
  }, 1000)
  useEvents(refresh)
  useInterval(reload, REFRESH_MS)
  const { data } = overview
  // A verdict before all of it has been looked at would be a guess.
  const isRead = [breaks, solvency, undecided].every((one) => one.data ?? one.error)
  return (
    <>
      <Heading aside={data && <AsOf data={data} />}>Overview</Heading>
      <LoadState of={overview} what="the overview" />
      {data && !isRead && <Loading what="what is compared" />}
      {data && isRead && (
        <Overview
          data={data}
          breaks={breaks.data}
          solvency={solvency.data}
          undecided={undecided.data?.payments.length}
          unread={[
            ...(breaks.error === undefined ? [] : ['list of breaks']),
            ...(isUnread(solvency.error) ? ['supply of the stablecoin'] : []),
            ...(undecided.error === undefined ? [] : ['list of payments to decide']),
          ]}
        />
      )}
      {data && isRead && <OverviewCharts coin={data.coin} />}
    </>
  )
}

/** Figures without their time are a rumour. */
function AsOf({ data }: { data: OverviewWire }) {
  return (
    <p class="faint">
      {data.environment}, chain {data.chain_id}, as of <Time iso={data.at} />
    </p>
  )
}

/** Where there is no stablecoin, or nothing final yet, nothing is missing. */
function isUnread(error: unknown): boolean {
  if (error === undefined) return false
  const code = error instanceof ApiFailure ? error.code : ''
  return code !== 'contract_not_configured' && code !== 'unavailable'
}

function Overview(props: {
  data: OverviewWire
  breaks: BreakList | undefined
  solvency: SolvencyWire | undefined
  undecided: number | undefined
  unread: readonly string[]
}) {
  const { data, breaks, solvency, undecided, unread } = props
  const verdict = judgeOverview(data, {
    openBreaks: breaks?.total,
    solvency,
    undecided,
    unread,
  })
  return (
    <>
      <div class={`verdict ${verdict.tone}`} role="status">
        <strong>{verdict.sentence}</strong>
        {verdict.reasons.length > 0 && (
          <ul>
            {verdict.reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        )}
      </div>
      <div class="panels flow">
        <Settled data={data} />
        <InFlight data={data} />
        <Breaks list={breaks} alerts={data.alerts} undecided={undecided} />
        <Solvency solvency={solvency} />
        <Health data={data} />
      </div>
    </>
  )
}

function Settled({ data }: { data: OverviewWire }) {
  const { coin, claimed, settled } = data
  return (
    <Panel title="Claimed and settled, last 24 hours">
      <div class="pair">
        <Figure name="The records claim" coin={coin} {...claimed} />
        <Figure name="The chain settled" coin={coin} {...settled} />
      </div>
      <p class="faint small">Payments with an open break or alert do not count as settled.</p>
    </Panel>
  )
}

function Figure(props: { name: string; coin: string; amount_decimal: string; count: number }) {
  return (
    <div class="figure">
      <p class="faint">{props.name}</p>
      <p class="big">
        <Amount decimal={props.amount_decimal} currency={props.coin} />
      </p>
      <p class="faint">{plural(props.count, 'payment')}</p>
    </div>
  )
}

function InFlight({ data }: { data: OverviewWire }) {
  const { count, oldest_seconds: oldest, by_age: byAge } = data.in_flight
  const most = Math.max(1, ...byAge.map((age) => age.count))
  return (
    <Panel title="In flight">
      <p class="big">{plural(count, 'order')}</p>
      <p class="faint">
        {count === 0
          ? 'Nothing is waiting for the chain.'
          : `The oldest has waited ${formatDuration(oldest)}.`}
      </p>
      <ul class="bars" aria-label="Orders in flight by age">
        {byAge.map((age, index) => (
          <li key={age.under_seconds ?? 'older'}>
            <span>{ageName(byAge, index)}</span>
            <meter min={0} max={most} value={age.count} aria-label={ageName(byAge, index)} />
            <span class="count">{age.count}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function ageName(ages: OverviewWire['in_flight']['by_age'], index: number): string {
  const under = ages[index]?.under_seconds ?? null
  const before = ages[index - 1]?.under_seconds ?? 0
  return under === null ? `over ${formatDuration(before)}` : `under ${formatDuration(under)}`
}

function Breaks(props: {
  list: BreakList | undefined
  alerts: OverviewWire['alerts']
  undecided: number | undefined
}) {
  const { list, alerts, undecided = 0 } = props
  return (
    <Panel title="Open breaks and alerts">
      <p class="big">{list ? plural(list.total, 'break') : 'Not known yet'}</p>
      {list && list.breaks.length > 0 && (
        <ul class="list">
          {countsOf(list.breaks).map(([kind, { count, since }]) => (
            <li key={kind}>
              <a href={hashOf(['breaks'], { kind })}>{sentenceOf(kind)}</a>: {count}, the oldest
              since <Time iso={since} />
            </li>
          ))}
        </ul>
      )}
      {list?.total === 0 && <p class="faint">The latest run found no disagreement.</p>}
      {undecided > 0 && (
        <p>
          <a href={hashOf(['payments'])}>{plural(undecided, 'payment')}</a> to accept or refuse.
        </p>
      )}
      <ul class="list">
        {alerts.map((alert) => (
          <li key={alert.kind}>
            <a href={hashOf(['alerts'])}>{sentenceOf(alert.kind)}</a>: {alert.count}, since{' '}
            <Time iso={alert.since} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

type Count = { count: number; since: string }

function countsOf(breaks: BreakList['breaks']): [string, Count][] {
  const counts = new Map<string, Count>()
  for (const { kind, first_seen_at: at } of breaks) {
    const { count, since } = counts.get(kind) ?? { count: 0, since: at }
    counts.set(kind, { count: count + 1, since: at < since ? at : since })
  }
  return [...counts]
}

function Solvency({ solvency }: { solvency: SolvencyWire | undefined }) {
  return (
    <Panel title="Supply against liability">
      {solvency ? (
        <>
          <p class="big">
            {solvency.holds ? 'They agree' : `They differ by ${solvency.drift} USD`}
          </p>
          <Facts
            rows={[
              ['Supply on chain', <Amount decimal={solvency.supply} currency="USD" />],
              ['Owed by the ledger', <Amount decimal={solvency.liability} currency="USD" />],
              ['Minted, not complete', <Amount decimal={solvency.mints_ahead} currency="USD" />],
              ['At block', groupDigits(solvency.block_number)],
              ['Compared', <Time iso={solvency.checked_at} />],
            ]}
          />
        </>
      ) : (
        <Empty title="Not compared yet">
          <p>Supply and liability are compared at each final block of a chain with a stablecoin.</p>
        </Empty>
      )}
    </Panel>
  )
}

function Health({ data }: { data: OverviewWire }) {
  const { head, providers } = data
  return (
    <Panel
      title="Chain and providers"
      facts={[
        ['Chain', String(data.chain_id)],
        ['Last block read', head ? groupDigits(head.block_number) : 'none yet'],
        [
          'Last final block',
          typeof head?.final_number === 'number' ? groupDigits(head.final_number) : 'none yet',
        ],
        ...(head ? [['Read', <Time iso={head.updated_at} />] as const] : []),
      ]}
    >
      <ul class="list">
        {providers.map((provider) => (
          <li key={provider.name}>
            <Badge state={provider.state} /> <code>{provider.name}</code>{' '}
            <span class="faint">score {provider.score} of 100</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
