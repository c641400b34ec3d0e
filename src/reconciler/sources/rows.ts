import { recordFields } from './file.ts'
import { readRecord, type Chunk, type PaymentRecord, type RecordSource } from './records.ts'
import type { UnreadableRow } from './records.ts'

/** One payment, by the names of the columns of a CSV. Values are text, or numbers and times. */
export type PaymentRow = { readonly [column: string]: string | number | bigint | Date | null }

const CHUNK = 5_000

/** Records that a program has: rows of a query, or lines that it reads by itself. */
export function createRowSource(
  rows: Iterable<PaymentRow> | AsyncIterable<PaymentRow>,
): RecordSource {
  const total = Array.isArray(rows) ? rows.length : undefined
  return {
    name: 'rows',
    version: undefined,
    size: total === undefined ? undefined : { total, unit: 'records' },
    positionOf: Number,
    chunks: ({ signal }) => readChunks(rows, signal),
  }
}

async function* readChunks(
  rows: Iterable<PaymentRow> | AsyncIterable<PaymentRow>,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  let records: PaymentRecord[] = []
  let unreadable: UnreadableRow[] = []
  let line = 0
  const chunk = (): Chunk => ({ records, unreadable, repeated: 0, cursor: String(line) })
  for await (const row of rows) {
    signal.throwIfAborted()
    line += 1
    const record = readRecord(recordFields(withTimes(row)), line)
    if (typeof record === 'string') unreadable.push({ line, problem: record })
    else records.push(record)
    if (records.length + unreadable.length < CHUNK) continue
    yield chunk()
    ;[records, unreadable] = [[], []]
  }
  yield chunk()
}

function withTimes(row: PaymentRow): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => {
    return [name, value instanceof Date ? value.toISOString() : value] as const
  })
  return Object.fromEntries(entries)
}
