import type { Page } from '../../../store/database/pages.ts'
import type { PageQuery } from '../../../wire/group-a/lists.ts'
import { effectiveLimit } from '../../../wire/shapes.ts'
import { invalidRequest } from '../../admission/checks.ts'

/** The page that a query asks for; `placeOf` finds a row of the caller's by its public id. */
export async function readPage(
  query: PageQuery,
  placeOf: (id: string) => Promise<bigint | undefined>,
): Promise<Page> {
  const { pageAfter, pageBefore } = query
  if (pageAfter !== undefined && pageBefore !== undefined) {
    const message = 'A page is after a row or before one. Send one of them.'
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
    const message = 'There is no such row in this list. Take an id from one of its pages.'
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
