import { statSync, type Stats } from 'node:fs'
import { basename } from 'node:path'

import { readCsv, readHeader, type CsvRow } from '../../base/csv.ts'
import { BaseError, codeOf } from '../../base/errors.ts'
import { readLines, type Line } from '../../base/read-lines.ts'
import { isExactNumber, parseJson } from '../../wire/json.ts'
import {
  readRecord,
  type Chunk,
  type PaymentRecord,
  type RecordFields,
  type RecordSource,
  type UnreadableRow,
} from './records.ts'

const REQUIRED = ['transaction_id', 'eth_transaction_hash']

/** Records of a CSV with a header, or of JSON lines, which the first character tells apart. */
export function createFileSource(
  path: string,
  options: { chunkRecords?: number } = {},
): RecordSource {
  const { chunkRecords = DEFAULT_CHUNK } = options
  const { size, mtimeMs } = statOf(path)
  return {
    name: basename(path),
    version: `${size} bytes of ${new Date(mtimeMs).toISOString()}`,
    size: { total: size, unit: 'bytes' },
    positionOf: (cursor) => placeOf(cursor).end,
    chunks: ({ after, signal }) => readChunks(path, { after, signal, chunkRecords }),
  }
}

const DEFAULT_CHUNK = 5_000

/** Rows that cannot be read count too, so that a file of nonsense does not fill the memory. */
type Filling = { records: PaymentRecord[]; unreadable: UnreadableRow[]; repeated: number }

async function* readChunks(
  path: string,
  options: { after: string | undefined; signal: AbortSignal; chunkRecords: number },
): AsyncGenerator<Chunk> {
  const { signal, chunkRecords } = options
  const first = await firstLine(path, signal)
  const start = options.after === undefined ? undefined : placeOf(options.after)
  const place = { number: start?.number ?? 0, end: start?.end ?? 0 }
  const lines = readLines(path, { start: place.end, number: place.number, signal })
  const rows = first.trimStart().startsWith('{')
    ? readObjects(lines, place)
    : readTable({ lines, place, first, isStart: start === undefined })
  let filling: Filling = { records: [], unreadable: [], repeated: 0 }
  for await (const row of rows) {
    if (typeof row.record === 'string') {
      filling.unreadable.push({ line: row.line, problem: row.record })
    } else {
      filling.records.push(row.record)
    }
    const count = filling.records.length + filling.unreadable.length
    // Only behind a row that ends where the file was read to, nothing is lost.
    if (count >= chunkRecords && row.line === place.number) {
      yield { ...filling, cursor: cursorOf(place) }
      filling = { records: [], unreadable: [], repeated: 0 }
    }
  }
  yield { ...filling, cursor: cursorOf(place) }
}

type Row = { line: number; record: PaymentRecord | string }
type LinePosition = { number: number; end: number }

async function* readTable(table: {
  lines: AsyncIterable<Line>
  place: LinePosition
  first: string
  isStart: boolean
}): AsyncGenerator<Row> {
  const { lines, place, first, isStart } = table
  let columns = isStart ? undefined : await columnsOf(first)
  const numberBefore = place.number
  for await (const row of readCsv(textsOf(lines, place))) {
    const line = row.line + numberBefore
    if (columns === undefined) columns = headerOf(row)
    else yield { line, record: recordOf(row, { line, columns }) }
  }
  if (columns === undefined) headerOf({ line: 1, cells: [] })
}

async function columnsOf(first: string): Promise<string[]> {
  const lines = (async function* () {
    yield first
  })()
  for await (const row of readCsv(lines)) return headerOf(row)
  return []
}

function headerOf(row: CsvRow): string[] {
  return readHeader('cells' in row ? row.cells : [], REQUIRED)
}

function recordOf(
  row: CsvRow,
  { line, columns }: { line: number; columns: readonly string[] },
): PaymentRecord | string {
  if ('problem' in row) return row.problem
  const { cells } = row
  if (cells.length !== columns.length) {
    return `it has ${cells.length} cells, and the header ${columns.length}`
  }
  const fields = Object.fromEntries(columns.map((name, at) => [name, cells[at]]))
  return readRecord(fields, line)
}

async function* readObjects(lines: AsyncIterable<Line>, place: LinePosition): AsyncGenerator<Row> {
  for await (const text of textsOf(lines, place)) {
    if (text.trim() === '') continue
    const line = place.number
    const fields = fieldsOf(text)
    yield { line, record: typeof fields === 'string' ? fields : readRecord(fields, line) }
  }
}

/** Remembers how far it was read, which is all that a cursor says. */
async function* textsOf(lines: AsyncIterable<Line>, place: LinePosition): AsyncGenerator<string> {
  for await (const { text, number, end } of lines) {
    Object.assign(place, { number, end })
    yield number === 1 ? text.replace(/^\uFEFF/, '') : text
  }
}

function fieldsOf(text: string): RecordFields | string {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? recordFields(value)
      : 'the line is not a JSON object'
  } catch {
    return 'the line is not valid JSON'
  }
}

/** Numbers keep the digits of the file. A value that is neither text nor number is left out. */
export function recordFields(value: { readonly [name: string]: unknown }): RecordFields {
  const entries = Object.entries(value).map(([name, part]) => [name, textOf(part)] as const)
  return Object.fromEntries(entries)
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (isExactNumber(value)) return value.rawJSON
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined
}

async function firstLine(path: string, signal: AbortSignal): Promise<string> {
  for await (const { text } of readLines(path, { start: 0, number: 0, signal })) {
    return text.replace(/^\uFEFF/, '')
  }
  return ''
}

function cursorOf({ end, number }: LinePosition): string {
  return `${end}:${number}`
}

function placeOf(cursor: string): LinePosition {
  const [end = 0, number = 0] = cursor.split(':').map(Number)
  return { end, number }
}

function statOf(path: string): Stats {
  try {
    return statSync(path)
  } catch (error) {
    throw new BaseError(
      `${path} cannot be read (${codeOf(error)}). Pass a CSV, a file of JSON lines, or the ` +
        'address of a server, with http:// or https://.',
      { code: 'file_unreadable', cause: error },
    )
  }
}
