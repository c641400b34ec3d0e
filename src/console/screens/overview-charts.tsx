import { useState } from 'preact/hooks'

import type { SampleListWire } from '../../wire/group-b/admin.ts'
import type { StatisticsWire } from '../../wire/group-b/console.ts'
import { useInterval, useLoaded } from '../context.ts'
import { Chart, usePlot, type Point } from '../parts/chart.tsx'
import { formatUnits, groupDigits } from '../parts/format.ts'
import { Unloaded } from '../parts/on-demand.tsx'
import { LoadState, Panel } from '../parts/parts.tsx'

const REFRESH_MS = 60_000
const HOUR_MS = 3_600_000

type Samples = SampleListWire['samples']
type Days = StatisticsWire['days']

/** What the platform did: minute by minute lately, and day by day. */
export function OverviewCharts({ coin }: { coin: string }) {
  const { isFailed } = usePlot()
  return (
    <>
      {isFailed && <Unloaded what="the program that draws" />}
      <Lately coin={coin} />
      <ByDay coin={coin} />
    </>
  )
}

function Lately({ coin }: { coin: string }) {
  const [hours, setHours] = useState(24)
  const loaded = useLoaded(`samples ${hours}`, (api, signal) =>
    api.get<SampleListWire>('/api/admin/samples', { signal, query: { hours } }),
  )
  useInterval(loaded.reload, REFRESH_MS)
  const since = Date.now() - hours * HOUR_MS
  const span = (
    <label class="inline">
      Show
      <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
        <option value={1}>the last hour</option>
        <option value={24}>the last day</option>
        <option value={168}>the last week</option>
        <option value={720}>the last 30 days</option>
      </select>
    </label>
  )
  return (
    <div class="panels charts">
      <Panel title="Minute by minute" aside={span}>
        <LoadState of={loaded} what="samples" />
        {loaded.data && <SampleCharts samples={loaded.data.samples} since={since} coin={coin} />}
      </Panel>
    </div>
  )
}

function SampleCharts(props: { samples: Samples; since: number; coin: string }) {
  const { samples, since, coin } = props
  return (
    <div class="chart-grid">
      <Chart
        title="Claimed and settled in 24 hours"
        since={since}
        format={(value) => `${short(value)} ${coin}`}
        lines={[
          { name: 'claimed', points: pointsOf(samples, (one) => etherOf(one.claimed_wei)) },
          { name: 'settled', points: pointsOf(samples, (one) => etherOf(one.settled_wei)) },
        ]}
      />
      <Chart
        title="Orders in flight"
        since={since}
        format={whole}
        lines={[{ name: 'in flight', points: pointsOf(samples, (one) => one.in_flight) }]}
      />
      <Chart
        title="Open breaks"
        since={since}
        format={whole}
        lines={[{ name: 'open', points: pointsOf(samples, (one) => one.open_breaks) }]}
      />
      <Chart
        title="Supply and liability"
        since={since}
        format={dollars}
        lines={[
          { name: 'supply', points: pointsOf(samples, (one) => numberOf(one.supply)) },
          { name: 'liability', points: pointsOf(samples, (one) => numberOf(one.liability)) },
        ]}
      />
    </div>
  )
}

function ByDay({ coin }: { coin: string }) {
  const [days, setDays] = useState(30)
  const loaded = useLoaded(`statistics ${days}`, (api, signal) =>
    api.get<StatisticsWire>('/api/admin/statistics', { signal, query: { days } }),
  )
  useInterval(loaded.reload, REFRESH_MS)
  const span = (
    <label class="inline">
      Show
      <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
        <option value={7}>the last 7 days</option>
        <option value={30}>the last 30 days</option>
        <option value={90}>the last 90 days</option>
      </select>
    </label>
  )
  return (
    <div class="panels charts">
      <Panel title="Day by day, in UTC" aside={span}>
        <LoadState of={loaded} what="statistics" />
        {loaded.data && <DayCharts days={loaded.data.days} coin={coin} />}
      </Panel>
    </div>
  )
}

function DayCharts({ days, coin }: { days: Days; coin: string }) {
  const currencies = [...new Set(days.flatMap(({ volume }) => volume.map((one) => one.currency)))]
  return (
    <div class="chart-grid">
      {currencies.map((currency) => (
        <Chart
          key={currency}
          title={`Volume in ${currency}`}
          isDaily
          format={(value) => `${short(value)} ${currency}`}
          lines={[{ name: 'completed', points: daily(days, (day) => volumeOf(day, currency)) }]}
        />
      ))}
      <Chart
        title="Transactions and failures"
        isDaily
        format={whole}
        lines={[
          { name: 'all', points: daily(days, (day) => day.transactions) },
          { name: 'failed', points: daily(days, (day) => day.failed) },
        ]}
      />
      <Chart
        title="Time to final"
        isDaily
        format={(value) => `${short(value)} s`}
        lines={[
          { name: 'half within', points: daily(days, (day) => secondsOf(day.final_p50_ms)) },
          { name: '95 of 100 within', points: daily(days, (day) => secondsOf(day.final_p95_ms)) },
        ]}
      />
      <Chart
        title="Fees paid"
        isDaily
        format={(value) => `${short(value)} ${coin}`}
        lines={[{ name: 'fees', points: daily(days, (day) => etherOf(day.fees_wei)) }]}
      />
      <Chart
        title="Breaks"
        isDaily
        format={whole}
        lines={[
          { name: 'opened', points: daily(days, (day) => day.breaks_opened) },
          { name: 'closed', points: daily(days, (day) => day.breaks_closed) },
        ]}
      />
    </div>
  )
}

function volumeOf({ volume }: Days[number], currency: string): number {
  return Number(volume.find((one) => one.currency === currency)?.amount_decimal ?? 0)
}

function daily(days: Days, value: (day: Days[number]) => number | null): Point[] {
  return days.map((day) => ({ at: Date.parse(day.day), value: value(day) }))
}

/** A sample that has no value is a gap in the line. */
function pointsOf(samples: Samples, value: (sample: Samples[number]) => number | null): Point[] {
  return samples.map((sample) => ({ at: Date.parse(sample.at), value: value(sample) }))
}

/** For the height of a line only; what is read as a figure keeps its digits. */
function etherOf(wei: string): number {
  return Number(formatUnits(BigInt(wei), 18))
}

/** For the height of a line only. */
function numberOf(decimal: string | null): number | null {
  return decimal === null ? null : Number(decimal)
}

/** The first format of a page takes 20 ms, so it is made with the first chart. */
let compact: Intl.NumberFormat | undefined

function short(value: number): string {
  compact ??= new Intl.NumberFormat('en', { maximumSignificantDigits: 4, notation: 'compact' })
  return compact.format(value)
}

function dollars(value: number): string {
  return `${short(value)} USD`
}

function whole(value: number): string {
  return Number.isInteger(value) ? groupDigits(value) : ''
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}
