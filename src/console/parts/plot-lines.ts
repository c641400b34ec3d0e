/** A line of a plot: its points by time, oldest first. */
export type Point = { at: number; value: number }

export type Frame = { from: number; until: number; most: number }

/** What all lines have room in; a line of zeros has room above it, too. */
export function frameOf(lines: readonly (readonly Point[])[]): Frame {
  const points = lines.flat()
  const times = points.map(({ at }) => at)
  const most = points.reduce((most, { value }) => Math.max(most, value), 0)
  return {
    from: Math.min(...times),
    until: Math.max(...times),
    most: most === 0 ? 1 : most * HEADROOM,
  }
}

const HEADROOM = 1.15

/** The `d` of an SVG path: a step line, since a value holds until the next one is taken. */
export function pathOf(
  line: readonly Point[],
  { frame, width, height }: { frame: Frame; width: number; height: number },
): string {
  const span = Math.max(frame.until - frame.from, 1)
  const place = ({ at, value }: Point): [number, number] => [
    ((at - frame.from) / span) * width,
    height - (value / frame.most) * height,
  ]
  return line
    .map((point, index) => {
      const [x, y] = place(point).map((part) => part.toFixed(1))
      return index === 0 ? `M${x} ${y}` : `H${x}V${y}`
    })
    .join('')
}

/** The point that held at a time. */
export function pointAt(line: readonly Point[], at: number): Point | undefined {
  return line.findLast((point) => point.at <= at) ?? line[0]
}
