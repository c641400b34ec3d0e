import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import type Uplot from 'uplot'
import 'uplot/dist/uPlot.min.css'

import { formatTime, zoneOf } from './format.ts'
import { useOnDemand } from './on-demand.tsx'
import { usePreferences } from './preferences.ts'
import { useMedia } from './rows.tsx'

/** The value at a time; null where there is none. */
export type Point = { at: number; value: number | null }
export type Line = { name: string; points: readonly Point[] }

type ChartProps = {
  title: string
  /** What an axis and the cursor show of a value, with its unit. */
  format: (value: number) => string
  lines: readonly Line[]
  /** Days are bars, moments are lines. */
  isDaily?: boolean
  /** From when on there should be points: if they begin later, the chart says so. */
  since?: number | undefined
}

const HEIGHT = 190

/** It takes 20 ms to begin, so it comes with the first chart, and not with the page. */
const loadPlot = async () => (await import('uplot')).default
type Plot = typeof Uplot

/** What draws. Where it does not come, the words of a chart stay. */
export const usePlot = () => useOnDemand(loadPlot)

/** Axes, dates and units, and the values under the cursor; its words say the same as its lines. */
export function Chart(props: ChartProps) {
  const { title, format, lines, isDaily = false, since } = props
  const id = useId()
  const { zone } = usePreferences()
  const times = useMemo(() => timesOf(lines), [lines])
  const [place, setPlace] = useState<number>()
  const shown = Math.min(place ?? times.length - 1, times.length - 1)
  const at = times[shown]
  const when = at === undefined ? '' : whenOf(at, { isDaily, zone })
  if (at === undefined) return <Nothing title={title} words="There is no data in this range yet." />
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <span id={id} class="name">
          {title}
        </span>
        <span class="when">{when}</span>
        {lines.map(({ name, points }, index) => {
          const value = points.find((point) => point.at === at)?.value ?? null
          return (
            <span key={name} class={`key line-${index}`}>
              {name} {value === null ? 'none' : format(value)}
            </span>
          )
        })}
      </figcaption>
      <Canvas {...props} times={times} isDaily={isDaily} onPlace={setPlace} />
      {since !== undefined && (times[0] ?? 0) > since + LATE_MS && (
        <p class="faint small">
          The data begins on {whenOf(times[0] ?? 0, { isDaily, zone })}; before that there is none.
        </p>
      )}
    </figure>
  )
}

function Nothing({ title, words }: { title: string; words: string }) {
  return (
    <figure class="chart">
      <figcaption>
        <span class="name">{title}</span>
      </figcaption>
      <p class="faint">{words}</p>
    </figure>
  )
}

/** A day of samples may begin a few minutes late, and nobody misses them. */
const LATE_MS = 36 * 60_000

type CanvasProps = ChartProps & {
  times: readonly number[]
  isDaily: boolean
  onPlace: (place: number | undefined) => void
}

function Canvas({ lines, format, times, isDaily, onPlace }: CanvasProps) {
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<Uplot>(undefined)
  const { theme, zone } = usePreferences()
  const isDark = useMedia('(prefers-color-scheme: dark)')
  const names = lines.map(({ name }) => name).join()
  const data = useMemo(() => dataOf(times, lines), [times, lines])
  const latest = useRef(data)
  latest.current = data
  const formatting = useRef(format)
  formatting.current = format
  const { part: Plot, isFailed } = usePlot()
  useEffect(() => {
    const element = place.current
    if (!element || !Plot) return undefined
    const options = optionsOf(Plot, {
      element,
      lines,
      isDaily,
      isUtc: zone === 'utc' || isDaily,
      format: (value) => formatting.current(value),
      onPlace,
    })
    const made = new Plot(options, latest.current, element)
    chart.current = made
    const observer = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height: HEIGHT })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [Plot, names, theme, isDark, zone, isDaily])
  useEffect(() => chart.current?.setData(data), [data])
  return isFailed ? null : <div ref={place} class="canvas" aria-hidden="true" />
}

type Wanted = {
  element: HTMLElement
  lines: readonly Line[]
  isDaily: boolean
  isUtc: boolean
  format: (value: number) => string
  onPlace: (place: number | undefined) => void
}

function optionsOf(Plot: Plot, wanted: Wanted): Uplot.Options {
  const { element, lines, isDaily, isUtc, format, onPlace } = wanted
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const resolved = (name: string): string => resolve(element, colour(name))
  const strokes = [resolved('--accent'), resolved('--second'), resolved('--waiting')]
  const axis = {
    stroke: resolved('--faint'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: resolved('--line'), width: 1 },
    ticks: { show: false },
  }
  const bars = Plot.paths.bars?.({ size: [0.7, 40] })
  return {
    width: Math.max(element.clientWidth, 1),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    ...(isUtc && { tzDate: (ts) => Plot.tzDate(new Date(ts * 1000), 'Etc/UTC') }),
    scales: {
      x: { time: !isDaily, range: (chart) => roomFor(chart.data[0], isDaily) },
      y: { range: (_chart, _least, most) => [0, most > 0 ? most * HEADROOM : 1] },
    },
    axes: [
      isDaily
        ? { ...axis, splits: daySplits, values: (_chart, days) => days.map(dayLabel) }
        : { ...axis, values: dateLabels(isUtc) },
      { ...axis, size: 78, values: (_chart, values) => values.map((value) => format(value)) },
    ],
    series: [
      {},
      ...lines.map(({ name }, index) => ({
        label: name,
        stroke: strokes[index % strokes.length] ?? '',
        width: 2,
        points: { show: false },
        ...(index > 0 && { dash: [5, 4] }),
        ...(isDaily && bars && lines.length === 1
          ? { paths: bars, fill: strokes[0] ?? '' }
          : { spanGaps: false, ...(isDaily && { points: { show: true, size: 6 } }) }),
      })),
    ],
    hooks: { setCursor: [(chart) => onPlace(chart.cursor.idx ?? undefined)] },
  }
}

const HEADROOM = 1.15

/** A bar has half of its day on each side, and a moment alone some minutes. */
function roomFor(times: ArrayLike<number>, isDaily: boolean): [number, number] {
  const [first, last] = [times[0] ?? 0, times[times.length - 1] ?? 0]
  const room = isDaily ? DAY_S / 2 : first === last ? ALONE_S : 0
  return [first - room, last + room]
}

const ALONE_S = 600

/** Numbers alone, in the order in which no place reads them wrongly. */
function dateLabels(isUtc: boolean): Uplot.Axis.Values {
  return (_chart, splits, _axis, _space, step) =>
    splits.map((at) => {
      const text = formatTime(new Date(at * 1000).toISOString(), isUtc ? 'utc' : 'local')
      return step >= DAY_S ? text.slice(5, 10) : text.slice(11, 16)
    })
}

const DAY_S = 86_400

/** Days that are there, evenly so many that their labels have room. */
const daySplits: Uplot.Axis.Splits = (chart) => {
  const days = [...chart.data[0]]
  const every = Math.ceil(days.length / MOST_DAYS)
  return days.filter((_day, place) => place % every === 0)
}

const MOST_DAYS = 6

function dayLabel(at: number): string {
  return new Date(at * 1000).toISOString().slice(5, 10)
}

/** A colour of the theme as a canvas takes it: there is no `light-dark()` in a canvas. */
function resolve(element: HTMLElement, text: string): string {
  const probe = document.createElement('span')
  probe.style.color = text
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function timesOf(lines: readonly Line[]): number[] {
  const times = new Set(lines.flatMap(({ points }) => points.map(({ at }) => at)))
  return [...times].toSorted((a, b) => a - b)
}

function dataOf(times: readonly number[], lines: readonly Line[]): Uplot.AlignedData {
  const values = lines.map(({ points }) => {
    const byTime = new Map(points.map(({ at, value }) => [at, value]))
    return times.map((at) => byTime.get(at) ?? null)
  })
  return [times.map((at) => at / 1000), ...values]
}

function whenOf(at: number, how: { isDaily: boolean; zone: 'local' | 'utc' }): string {
  const iso = new Date(at).toISOString()
  if (how.isDaily) return `${iso.slice(0, 10)} UTC`
  return `${formatTime(iso, how.zone).slice(0, -3)} ${zoneOf(iso, how.zone)}`
}
