import type { PagePosition, PlatformClient, Transaction } from '../../client/index.ts'
import { readRecord, type PaymentRecord, type RecordSource, type UnreadableRow } from './records.ts'

const PAGE = 100
const CHUNK = 2_000

/**
 * The transactions of any server of Group B that have a hash. An unreadable row is reported by its
 * place in the list, and a repeated row is read once. A list that ends before its total is reported
 * at its end.
 */
export function createApiSource(
  client: Pick<PlatformClient, 'transactions'>,
  options: {
    name: string
    chain?: string | undefined
    since?: Date | undefined
    until?: Date | undefined
  },
): RecordSource {
  const { name, chain, since, until } = options
  let total = 0
  return {
    name,
    version: undefined,
    // It is known with the first page, and may change with any other.
    get size() {
      return total === 0 ? undefined : { total, unit: 'records' as const }
    },
    positionOf: (cursor) => placeOf(cursor).read,
    async *chunks({ after, signal }) {
      const { read, next, least = Infinity } = placeOf(after)
      if (next === null) return
      const wanted = { chain, start_date: dayOf(since), end_date: dayOf(until) }
      const pages = client.transactions.pages({ ...wanted, ...next, limit: PAGE }, { signal })
      const place: ListPosition = { read, next, least }
      let filling = empty()
      for await (const page of pages) {
        total = page.total
        // The server lists new rows before those that were read.
        place.least = Math.min(place.least ?? Infinity, total)
        for (const row of page.transactions) {
          place.read += 1
          take(row, place.read, filling)
        }
        place.next = page.next ?? null
        if (filling.records.length + filling.unreadable.length < CHUNK || !page.next) continue
        yield { ...filling, repeated: 0, cursor: JSON.stringify(place) }
        filling = empty()
      }
      if (place.read < (place.least ?? 0)) filling.unreadable.push(endedEarly(place, total))
      yield { ...filling, repeated: 0, cursor: JSON.stringify({ ...place, next: null }) }
    },
  }
}

/**
 * How many rows were read, and where the next begin; null behind the last. `least` is the smallest
 * total that any page told.
 */
type ListPosition = { read: number; next: PagePosition | null; least?: number }

function endedEarly({ read }: ListPosition, total: number): UnreadableRow {
  const problem = `the list ends after ${read} rows, and the server counts ${total}`
  return { line: read + 1, problem }
}

function placeOf(cursor: string | undefined): ListPosition {
  return cursor === undefined ? { read: 0, next: {} } : (JSON.parse(cursor) as ListPosition)
}

type Filling = { records: PaymentRecord[]; unreadable: UnreadableRow[] }

function empty(): Filling {
  return { records: [], unreadable: [] }
}

/** A row without a hash is not on the chain, and is skipped. */
function take(row: Transaction, line: number, { records, unreadable }: Filling): void {
  const hash: unknown = row.eth_transaction_hash
  if (hash === null || hash === undefined || hash === '') return
  const { transaction_id, amount, currency, status, created_at } = row
  if (textOf(currency) === undefined) {
    // The currency is not guessed.
    unreadable.push({ line, problem: 'currency is missing' })
    return
  }
  const fields = {
    transaction_id: textOf(transaction_id),
    eth_transaction_hash: textOf(hash) ?? 'none',
    amount: textOf(amount),
    currency: textOf(currency),
    status: textOf(status),
    created_at: textOf(created_at),
  }
  const record = readRecord(fields, line)
  if (typeof record === 'string') unreadable.push({ line, problem: record })
  else records.push(asPrice(record, row))
}

/**
 * The list does not say whether dollars were paid as such, or are the price of what was paid. Of a
 * checkout it names the last transaction alone, and not what that one has paid of it.
 */
function asPrice(record: PaymentRecord, { type }: Transaction): PaymentRecord {
  const { amount } = record
  if (amount === undefined) return record
  const told = { isPrice: true as const, ...(type === 'payment' && { isDue: true as const }) }
  return { ...record, amount: { ...amount, ...told } }
}

/** A server may send anything, whatever the types say. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function dayOf(time: Date | undefined): string | undefined {
  return time?.toISOString().slice(0, 10)
}
