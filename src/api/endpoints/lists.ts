import type { Page } from '../../store/database/pages.ts'
import type { AmountPlace } from '../../store/transactions/by-amount.ts'
import type { ListPlace } from '../../store/transactions/found.ts'
import type { RequestError } from '../../wire/errors.ts'
import type { PageQuery } from '../../wire/group-a/lists.ts'
import { effectiveLimit } from '../../wire/shapes.ts'
import { invalidRequest } from '../admission/checks.ts'

/** A page of a list, and the last one on it where another page follows; one more tells. */
export async function pageOf<T>(
  limit: number,
  list: (limit: number) => Promise<readonly T[]>,
): Promise<{ shown: readonly T[]; last: T | undefined }> {
  const found = await list(limit + 1)
  const shown = found.slice(0, limit)
  return { shown, last: found.length > limit ? shown.at(-1) : undefined }
}

export function idOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text)
}

/** The place of the last one shown: when it was made, in milliseconds, and its internal id. */
export function cursorOf(place: ListPlace): string {
  return Buffer.from(`${place.createdAt.getTime()},${place.id}`).toString('base64url')
}

/** The place of the last one shown in a list by amount. */
export function amountCursorOf({ amount, id }: AmountPlace): string {
  return Buffer.from(`${amount} ${id}`).toString('base64url')
}

export function placeOfAmountCursor(cursor: string): AmountPlace {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, amount = '', id = ''] = AMOUNT_PLACE.exec(text) ?? []
  const place = { amount, id: BigInt(id) }
  if (amount === '' || amountCursorOf(place) !== cursor) throw badCursor()
  return place
}

const AMOUNT_PLACE = /^((?:0|[1-9][0-9]{0,12})(?:\.[0-9]{1,18})?) ([1-9][0-9]{0,17})$/

/**
 * A cursor that was tampered with leads to another place in the caller's own list, or is refused;
 * so it needs no signature.
 */
export function placeOfCursor(cursor: string): ListPlace {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, ms = '', id = ''] = /^([1-9][0-9]{0,13}),([1-9][0-9]{0,17})$/.exec(text) ?? []
  const place = { createdAt: new Date(Number(ms)), id: BigInt(id) }
  if (ms === '' || cursorOf(place) !== cursor) throw badCursor()
  return place
}

function badCursor(): RequestError {
  const message = 'This cursor is not from this list. Send the next_cursor of an answer unchanged.'
  return invalidRequest([{ field: 'query.cursor', code: 'bad_cursor', message }])
}

const DAY_MS = 86_400_000

/** The database reads no year of five digits, and a query can name no day after this one. */
const LAST_DAY = '9999-12-31'

/** Both days are included, so the range ends with the first moment of the day after. */
export function dayRange(query: {
  start_date?: string | undefined
  end_date?: string | undefined
}): { from?: Date; until?: Date } {
  const from = query.start_date === undefined ? undefined : new Date(query.start_date)
  const end = query.end_date === undefined ? undefined : new Date(query.end_date)
  if (from && end && from > end) {
    const message = 'This day is after `end_date`. Exchange the two.'
    throw invalidRequest([{ field: 'query.start_date', code: 'after_end_date', message }])
  }
  return {
    ...(from ? { from } : {}),
    ...(end && query.end_date !== LAST_DAY ? { until: new Date(end.getTime() + DAY_MS) } : {}),
  }
}

/** The page that Group A's query asks for; `placeOf` finds a row of the caller's by its id. */
export async function readPage(
  query: PageQuery,
  placeOf: (id: string) => Promise<bigint | undefined>,
): Promise<Page> {
  const { pageAfter, pageBefore } = query
  if (pageAfter !== undefined && pageBefore !== undefined) {
    const message = 'pageAfter and pageBefore exclude each other. Send one of them.'
    throw invalidRequest([{ field: 'query.pageBefore', code: 'conflict', message }])
  }
  const from = query.from === undefined ? undefined : new Date(query.from)
  const to = query.to === undefined ? undefined : new Date(query.to)
  if (from && to && from > to) {
    const message = 'This moment is after `to`. Exchange the two.'
    throw invalidRequest([{ field: 'query.from', code: 'after_end_date', message }])
  }
  const place = async (name: 'pageAfter' | 'pageBefore', id: string | undefined) => {
    const found = id === undefined ? undefined : await placeOf(id)
    if (found !== undefined || id === undefined) return found
    const message = 'No row of this list has this id. Send an id from one of its pages.'
    throw invalidRequest([{ field: `query.${name}`, code: 'bad_cursor', message }])
  }
  return {
    size: effectiveLimit(query.pageSize),
    from,
    to,
    after: await place('pageAfter', pageAfter),
    before: await place('pageBefore', pageBefore),
  }
}
