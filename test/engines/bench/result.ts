import { writeFileSync } from 'node:fs'

/** One line of the table that `npm run bench` ends with. */
export type BenchRow = {
  part: string
  what: string
  unit: string
  ours: number
  /** What others do, measured in the same run. */
  peer?: { what: string; value: number }
  /** What cannot be gone below, or above. */
  floor?: { what: string; value: number }
}

/** Leaves what a part has found for `npm run bench`, where that runs it. */
export function tellRows(part: string, rows: readonly Omit<BenchRow, 'part'>[]): void {
  const file = process.env['BENCH_RESULT']
  if (file === undefined) return
  const all = rows.map((row): BenchRow => ({ part, ...row }))
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`)
}

/** The table, with columns as wide as what stands in them. */
export function formatRows(rows: readonly BenchRow[]): string {
  const cells = rows.map(({ part, what, unit, ours, peer, floor }) => {
    return [part, what, `${figure(ours)} ${unit}`, beside(peer), beside(floor)]
  })
  return inColumns([['part', 'what', 'ours', 'peer', 'floor'], ...cells])
}

/** A column for each size, with the peer's figure in brackets; the last one says who that is. */
export function formatGrowth(rows: readonly (BenchRow & { size: number })[]): string {
  const sizes = [...new Set(rows.map(({ size }) => size))].toSorted((a, b) => a - b)
  const lines = Map.groupBy(rows, ({ part, what, unit }) => [part, what, unit].join('\n'))
  const cells = [...lines].map(([key, line]) => {
    const figures = sizes.map((size) => {
      const row = line.find((one) => one.size === size)
      const peer = row?.peer === undefined ? '' : ` (${figure(row.peer.value)})`
      return row === undefined ? '' : `${figure(row.ours)}${peer}`
    })
    return [...key.split('\n'), ...figures, line[0]?.peer?.what ?? '']
  })
  return inColumns([['part', 'what', 'unit', ...sizes.map(figure), '(peer)'], ...cells])
}

function inColumns(table: readonly (readonly string[])[]): string {
  const widths = table[0]!.map((_, at) => Math.max(...table.map((row) => row[at]!.length)))
  return table
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function beside(other: { what: string; value: number } | undefined): string {
  return other === undefined ? '' : `${figure(other.value)}, ${other.what}`
}

/** Three digits say enough of what a clock measured; gas is exact. */
function figure(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}
