import { ApiError } from './errors.ts'
import type {
  EventPage,
  PagePosition,
  PlatformEvent,
  Transaction,
  TransactionPage,
  TransactionQuery,
} from './platform-types.ts'
import { sleep, type Runtime } from './runtime.ts'
import type { CallOptions } from './transport.ts'

type ReadPage = (query: TransactionQuery) => Promise<TransactionPage>

/** Page after page. A list that only repeats itself ends in an error and not in a circle. */
export async function* iteratePages(
  read: ReadPage,
  query: TransactionQuery,
): AsyncGenerator<TransactionPage, void, undefined> {
  const seen = createMemory(REMEMBERED_ROWS)
  let position: PagePosition | undefined = query
  let repeated = 0
  while (position !== undefined) {
    const { offset: _, cursor: __, ...filters } = query
    const page: TransactionPage = await read({ ...filters, ...position })
    // A row that came in meanwhile pushes others onto the next page of a list with offsets, and
    // where many came in, a whole page of them.
    const transactions = page.transactions.filter((row) => seen.isNew(nameOf(row)))
    const isRepeated = page.transactions.length > 0 && transactions.length === 0
    repeated = isRepeated ? repeated + 1 : 0
    const most = position.cursor === undefined ? MAX_REPEATED_PAGES : 0
    if (repeated > most) throw repeats(position)
    yield { ...page, transactions }
    position = page.next
  }
}

export async function* iterateRows(
  pages: AsyncIterable<TransactionPage>,
): AsyncGenerator<Transaction, void, undefined> {
  for await (const { transactions } of pages) yield* transactions
}

/**
 * Where the next page begins. `total` may be wrong or old and a page may be shorter than was asked,
 * so only a short page at the end of the total, or an empty one, is the last.
 */
export function nextPosition(page: {
  rows: number
  offset: number
  limit: number
  total: number
  nextCursor: unknown
}): PagePosition | undefined {
  const { rows, offset, limit, total, nextCursor } = page
  if (typeof nextCursor === 'string' && nextCursor !== '') return { cursor: nextCursor }
  if (nextCursor === null || rows === 0) return undefined
  const end = offset + rows
  return rows < limit && end >= total ? undefined : { offset: end }
}

const MAX_REPEATED_PAGES = 5

/** Another server may leave its ids out; then the content of a row identifies it. */
function nameOf(row: Transaction): string {
  const id: unknown = row.transaction_id
  return typeof id === 'string' ? id : JSON.stringify(row)
}

/** A few pages: a repeated row comes soon after the first, and a list may have millions of rows. */
const REMEMBERED_ROWS = 1000

function createMemory(size: number): { isNew: (id: string) => boolean } {
  const ids = new Set<string>()
  return {
    isNew(id) {
      if (ids.has(id)) return false
      ids.add(id)
      const [oldest] = ids
      if (ids.size > size && oldest !== undefined) ids.delete(oldest)
      return true
    },
  }
}

function repeats(position: PagePosition): ApiError {
  const where = position.cursor === undefined ? `offset ${position.offset ?? 0}` : 'a cursor'
  return new ApiError(`The list gives the same rows again at ${where}.`, { code: 'list_repeats' })
}

/** Where to begin following events, and how often to look when there are none. */
export type FollowOptions = CallOptions & {
  /** The `next_after` from which to go on; absent for the oldest event. */
  after?: string | undefined
  /** How long to wait where nothing is new. */
  pollMs?: number | undefined
}

/** Every event, and those to come, until the signal ends it with an `aborted` error. */
export async function* followEvents(
  runtime: Runtime,
  read: (after: string) => Promise<EventPage>,
  options: FollowOptions,
): AsyncGenerator<PlatformEvent, void, undefined> {
  let after = options.after ?? ''
  for (;;) {
    const { events, next_after, has_more } = await read(after)
    yield* events
    // A server that says there is more but does not move on is asked no faster than others.
    if (!has_more || next_after === after) {
      await sleep(runtime, options.pollMs ?? DEFAULT_POLL_MS, options.signal)
    }
    after = next_after
  }
}

const DEFAULT_POLL_MS = 1000
