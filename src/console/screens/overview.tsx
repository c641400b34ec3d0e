import { useState } from 'preact/hooks'

import type { OverviewWire, SampleListWire } from '../../wire/group-b/admin.ts'
import type { SolvencyWire } from '../../wire/group-b/solvency.ts'
import { ApiFailure } from '../api.ts'
import { useEvents, useInterval, useLoaded, useThrottled } from '../context.ts'
import { formatDuration, formatUnits, groupDigits, plural, sentenceOf } from '../parts/format.ts'
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
import type { Point } from '../parts/plot-lines.ts'
import { Plot } from '../parts/plot.tsx'
import { hashOf } from '../route.ts'
import { judgeOverview } from '../verdict.ts'
import type { BreakList } from './breaks.tsx'
import { useUndecided } from './undecided-payments.tsx'

const REFRESH_MS = 10_000

/** In five seconds: do the books and the chain agree, and what waits? */
export function OverviewScreen() {
  const overview = useLoaded('overview', (api, signal) =>
    api.get<OverviewWire>('/api/admin/overview', { signal }),
  )
  const [hours, setHours] = useState(24)
  const samples = useLoaded(`samples ${hours}`, (api, signal) =>
    api.get<SampleListWire>('/api/admin/samples', { signal, query: { hours } }),
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
  useInterval(samples.reload, 6 * REFRESH_MS)
  const { data } = overview
  // A verdict before all of it has been looked at would be a guess.
  const isRead = [breaks, solvency, undecided].every((one) => one.data ?? one.error)
  const span = (
    <label class="inline">
      Plots show
      <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
        <option value={1}>the last hour</option>
        <option value={24}>the last day</option>
        <option value={168}>the last week</option>
        <option value={720}>the last 30 days</option>
      </select>
    </label>
  )
  return (
    <>
      <Heading aside={span}>Overview</Heading>
      <LoadState of={overview} what="the overview" />
      {data && !isRead && <Loading what="what is compared" />}
      {data && isRead && (
        <Overview
          data={data}
          samples={samples.data?.samples ?? []}
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
    </>
  )
}

/** Where there is no stablecoin, or nothing final yet, nothing is missing. */
function isUnread(error: unknown): boolean {
  if (error === undefined) return false
  const code = error instanceof ApiFailure ? error.code : ''
  return code !== 'contract_not_configured' && code !== 'unavailable'
}

type Samples = SampleListWire['samples']

function Overview(props: {
  data: OverviewWire
  samples: Samples
  breaks: BreakList | undefined
  solvency: SolvencyWire | undefined
  undecided: number | undefined
  unread: readonly string[]
}) {
  const { data, samples, breaks, solvency, undecided, unread } = props
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
      <div class="panels">
        <Settled data={data} samples={samples} />
        <InFlight data={data} samples={samples} />
        <Breaks list={breaks} alerts={data.alerts} samples={samples} undecided={undecided} />
        <Solvency solvency={solvency} samples={samples} />
        <Health data={data} samples={samples} />
      </div>
    </>
  )
}

function Settled({ data, samples }: { data: OverviewWire; samples: Samples }) {
  const { claimed, settled } = data
  return (
    <Panel title="Settled against claimed, last 24 hours">
      <div class="pair">
        <Figure name="The records claim" {...claimed} />
        <Figure name="The chain settled" {...settled} />
      </div>
      <Plot
        title="ETH that was claimed and ETH that was settled"
        format={(value) => `${value.toLocaleString(undefined, { maximumFractionDigits: 4 })} ETH`}
        lines={[
          { name: 'claimed', points: pointsOf(samples, (one) => etherOf(one.claimed_wei)) },
          { name: 'settled', points: pointsOf(samples, (one) => etherOf(one.settled_wei)) },
        ]}
      />
    </Panel>
  )
}

/** For the height of a line only; what is read as a figure keeps its digits. */
function etherOf(wei: string): number {
  return Number(formatUnits(BigInt(wei), 18))
}

function Figure(props: { name: string; amount_decimal: string; count: number }) {
  return (
    <div class="figure">
      <p class="faint">{props.name}</p>
      <p class="big">
        {groupDigits(props.amount_decimal)} <abbr class="unit">ETH</abbr>
      </p>
      <p class="faint">{plural(props.count, 'payment')}</p>
    </div>
  )
}

function InFlight({ data, samples }: { data: OverviewWire; samples: Samples }) {
  const { count, oldest_seconds: oldest, by_age: byAge } = data.in_flight
  const most = Math.max(1, ...byAge.map((age) => age.count))
  return (
    <Panel title="In flight">
      <p class="big">{plural(count, 'order')}</p>
      <p class="faint">
        {count === 0
          ? 'Nothing waits for the chain.'
          : `The oldest waits ${formatDuration(oldest)}.`}
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
      <Plot
        title="Orders in flight"
        format={(value) => String(value)}
        lines={[{ name: 'in flight', points: pointsOf(samples, (one) => one.in_flight) }]}
      />
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
  samples: Samples
  undecided: number | undefined
}) {
  const { list, alerts, samples, undecided = 0 } = props
  return (
    <Panel title="Open breaks and alerts">
      <p class="big">{list ? plural(list.total, 'break') : 'Not known yet'}</p>
      {list && list.breaks.length > 0 && (
        <ul class="list">
          {countsOf(list.breaks).map(([kind, { count, since }]) => (
            <li key={kind}>
              <a href={hashOf(['breaks'])}>{sentenceOf(kind)}</a>: {count}, the oldest since{' '}
              <Time iso={since} />
            </li>
          ))}
        </ul>
      )}
      {list?.total === 0 && <p class="faint">Records and chain agree on every payment.</p>}
      {undecided > 0 && (
        <p>
          <a href={hashOf(['payments'])}>{plural(undecided, 'payment')}</a> to accept or refuse.
        </p>
      )}
      <ul class="list">
        {alerts.map((alert) => (
          <li key={alert.kind}>
            <Badge state="open" /> {sentenceOf(alert.kind)}: {alert.count}, since{' '}
            <Time iso={alert.since} />
          </li>
        ))}
      </ul>
      <Plot
        title="Open breaks"
        format={(value) => String(value)}
        lines={[{ name: 'open', points: pointsOf(samples, (one) => one.open_breaks) }]}
      />
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

function Solvency(props: { solvency: SolvencyWire | undefined; samples: Samples }) {
  const { solvency, samples } = props
  return (
    <Panel title="Supply against liability">
      {solvency ? (
        <>
          <p class="big">{solvency.holds ? 'They agree' : `Off by ${solvency.drift} USD`}</p>
          <Facts
            rows={[
              ['Supply on chain', <Amount decimal={solvency.supply} currency="USD" />],
              ['Owed by the ledger', <Amount decimal={solvency.liability} currency="USD" />],
              ['Minted, not complete', <Amount decimal={solvency.mints_ahead} currency="USD" />],
              ['At block', groupDigits(String(solvency.block_number))],
            ]}
          />
          <Plot
            title="Dollars on the chain and dollars that the ledger owes"
            format={(value) => `${value.toLocaleString()} USD`}
            lines={[
              { name: 'supply', points: pointsOf(samples, (one) => numberOf(one.supply)) },
              { name: 'liability', points: pointsOf(samples, (one) => numberOf(one.liability)) },
            ]}
          />
        </>
      ) : (
        <Empty title="Nothing was compared yet">
          <p>It is, at each final block of a chain with a stablecoin.</p>
        </Empty>
      )}
    </Panel>
  )
}

function Health({ data, samples }: { data: OverviewWire; samples: Samples }) {
  const { head, providers } = data
  return (
    <Panel title="Chain and providers">
      <Facts
        rows={[
          ['Chain', String(data.chain_id)],
          ['Last block read', head ? groupDigits(String(head.block_number)) : 'none yet'],
          [
            'Last final block',
            typeof head?.final_number === 'number'
              ? groupDigits(String(head.final_number))
              : 'none yet',
          ],
        ]}
      />
      <ul class="list">
        {providers.map((provider) => (
          <li key={provider.name}>
            <Badge state={provider.state} /> <code>{provider.name}</code>{' '}
            <span class="faint">score {provider.score} of 100</span>
          </li>
        ))}
      </ul>
      <Plot
        title="Providers that are well"
        format={(value) => String(value)}
        lines={[{ name: 'well', points: pointsOf(samples, (one) => one.providers_well) }]}
      />
    </Panel>
  )
}

/** A sample that has no value is no point of the line. */
function pointsOf(samples: Samples, value: (sample: Samples[number]) => number | null): Point[] {
  return samples.flatMap((sample) => {
    const height = value(sample)
    return height === null ? [] : [{ at: Date.parse(sample.at), value: height }]
  })
}

/** For the height of a line only. */
function numberOf(decimal: string | null): number | null {
  return decimal === null ? null : Number(decimal)
}
