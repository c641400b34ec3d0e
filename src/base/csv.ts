import { BaseError } from './errors.ts'

/** One line, as RFC 4180 has it. */
export function csvRow(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/**
 * A spreadsheet runs a cell that begins with one of these signs. Such a cell gets an apostrophe in
 * front, unless it is a number. A cell with a separator or any kind of line break is quoted.
 */
function csvCell(text: string): string {
  const isSafe = /^-\d+(\.\d+)?$/.test(text) || !RUNS.test(text)
  const safe = isSafe ? text : `'${text}`
  return /[",;\r\n\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const RUNS = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

/** One row of a CSV, with the line of the file that it begins in. */
export type CsvRow = { line: number; cells: string[] } | { line: number; problem: string }

/** So much may one row be, quoted line breaks included. */
const MAX_ROW_LENGTH = 65_536
const MAX_ROW_LINES = 64

/**
 * Reads rows in the format of RFC 4180. An invalid row is reported with its line, and the lines
 * after it are read as rows again: one quote that nobody closed does not swallow the file.
 */
export async function* readCsv(lines: AsyncIterable<string>): AsyncGenerator<CsvRow> {
  let number = 0
  let held: { line: number; lines: string[] } | undefined
  for await (const text of lines) {
    number += 1
    if (held === undefined) {
      const row = parseRow(text)
      if (row.kind === 'open') held = { line: number, lines: [text] }
      else if (text.trim() !== '') yield toRow(row, number)
      continue
    }
    held.lines.push(text)
    const row = parseRow(held.lines.join('\n'))
    if (row.kind !== 'open') {
      yield toRow(row, held.line)
      held = undefined
    } else if (held.lines.length >= MAX_ROW_LINES || lengthOf(held.lines) > MAX_ROW_LENGTH) {
      yield* recover(held)
      held = undefined
    }
  }
  if (held !== undefined) yield* recover(held)
}

type Parsed = { kind: 'row'; cells: string[] } | { kind: 'open' } | { kind: 'bad'; problem: string }

function toRow(row: Exclude<Parsed, { kind: 'open' }>, line: number): CsvRow {
  return row.kind === 'row' ? { line, cells: row.cells } : { line, problem: row.problem }
}

/** The first line is the bad one; what follows it stands for itself. */
function* recover({ line, lines }: { line: number; lines: string[] }): Generator<CsvRow> {
  yield { line, problem: 'a quote is not closed' }
  for (const [index, text] of lines.entries()) {
    if (index === 0 || text.trim() === '') continue
    const row = parseRow(text)
    const at = line + index
    if (row.kind === 'open') yield { line: at, problem: 'a quote is not closed' }
    else yield toRow(row, at)
  }
}

function parseRow(text: string): Parsed {
  if (text.length > MAX_ROW_LENGTH) return { kind: 'bad', problem: 'the row is too long' }
  if (text.includes('\0')) return { kind: 'bad', problem: 'the row has a NUL character' }
  const row = text.endsWith('\r') ? text.slice(0, -1) : text
  if (!row.includes('"')) return { kind: 'row', cells: row.split(',') }
  const cells: string[] = []
  let at = 0
  for (;;) {
    if (row[at] !== '"') {
      const end = indexOrEnd(row, ',', at)
      const cell = row.slice(at, end)
      if (cell.includes('"'))
        return { kind: 'bad', problem: 'a quote is inside a cell that does not begin with one' }
      cells.push(cell)
      at = end
    } else {
      const end = closingQuote(row, at)
      if (end === undefined) return { kind: 'open' }
      cells.push(row.slice(at + 1, end).replaceAll('""', '"'))
      at = end + 1
    }
    if (at >= row.length) return { kind: 'row', cells }
    if (row[at] !== ',') return { kind: 'bad', problem: 'text follows a closed quote' }
    at += 1
  }
}

function closingQuote(row: string, start: number): number | undefined {
  let at = start + 1
  for (;;) {
    const end = row.indexOf('"', at)
    if (end === -1) return undefined
    if (row[end + 1] !== '"') return end
    at = end + 2
  }
}

function indexOrEnd(text: string, part: string, from: number): number {
  const index = text.indexOf(part, from)
  return index === -1 ? text.length : index
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0)
}

/** Which column holds which field. Names may come in any case; unknown columns are left alone. */
export function readHeader(cells: readonly string[], required: readonly string[]): string[] {
  const names = cells.map((cell) =>
    cell
      .replace(/^\uFEFF/, '')
      .trim()
      .toLowerCase(),
  )
  const doubled = names.find((name, at) => name !== '' && names.indexOf(name) !== at)
  if (doubled !== undefined) throw new CsvError(`The column ${doubled.slice(0, 64)} is duplicated.`)
  const absent = required.filter((name) => !names.includes(name))
  if (absent.length > 0) {
    throw new CsvError(`The first line must name the columns, but lacks ${absent.join(', ')}.`)
  }
  return names
}

class CsvError extends BaseError {
  constructor(message: string) {
    super(`${message} Correct the file.`, { code: 'source_invalid' })
  }
}
