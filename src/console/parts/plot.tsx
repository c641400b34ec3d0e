import { useId, useState } from 'preact/hooks'

import { formatClock } from './format.ts'
import { frameOf, pathOf, pointAt, type Point } from './plot-lines.ts'

export type Line = { name: string; points: readonly Point[] }

const WIDTH = 320
const HEIGHT = 72

/** A small plot over time. Its words say the same as its lines, for those who see no lines. */
export function Plot(props: {
  title: string
  lines: readonly Line[]
  format: (value: number) => string
}) {
  const { title, lines, format } = props
  const id = useId()
  const [time, setTime] = useState<number>()
  const frame = frameOf(lines.map(({ points }) => points))
  if ((lines[0]?.points.length ?? 0) < 2) {
    return <p class="plot-empty">The plot begins with the second minute.</p>
  }
  const at = time ?? frame.until
  const shown = lines.map((line) => ({ name: line.name, point: pointAt(line.points, at) }))
  const x = ((at - frame.from) / Math.max(frame.until - frame.from, 1)) * WIDTH
  const move = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const part = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1)
    setTime(frame.from + part * (frame.until - frame.from))
  }
  return (
    <figure class="plot">
      <svg
        role="img"
        aria-labelledby={id}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        onPointerMove={move}
        onPointerLeave={() => setTime(undefined)}
      >
        <title id={id}>{`${title}, from ${whenOf(frame.from)} to ${whenOf(frame.until)}`}</title>
        {lines.map((line, index) => (
          <path
            key={line.name}
            class={`line-${index}`}
            d={pathOf(line.points, { frame, width: WIDTH, height: HEIGHT })}
          />
        ))}
        {time !== undefined && <line class="cursor" x1={x} x2={x} y1={0} y2={HEIGHT} />}
      </svg>
      <figcaption>
        <span class="when">{whenOf(at)}</span>
        {shown.map(({ name, point }, index) => (
          <span key={name} class={`key line-${index}`}>
            {name} {format(point?.value ?? 0)}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function whenOf(time: number): string {
  return formatClock(new Date(time))
}
