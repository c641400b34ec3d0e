import { useMemo, useRef } from 'preact/hooks'

import { hashOf, type Route } from '../route.ts'
import type { Sort } from './rows.tsx'

type View = {
  /** The columns that are chosen, as the address names them. */
  chosen: string | undefined
  /** What the platform is asked for. */
  query: Route['query']
  /** Undefined where the list has one order only. */
  sort: Sort | undefined
}

/** Filters with which the platform lists the oldest first, too. */
const SORTABLE: ReadonlySet<string> = new Set([
  'user_id',
  'type',
  'status',
  'start_date',
  'end_date',
])

/** The filters, the order and the columns of a list: the address has all of them. */
export function useView(route: Route): View {
  const isTurned = useRef(false)
  // The same object until one goes elsewhere: with a new one the fields would be filled in anew.
  return useMemo(() => {
    const { columns, sort, ...filters } = route.query
    const isSortable = Object.keys(filters).every((name) => SORTABLE.has(name))
    if (!isSortable) return { chosen: columns, query: filters, sort: undefined }
    const isAscending = sort === 'oldest'
    const query = isAscending ? { ...filters, sort: 'oldest' } : filters
    const other = { ...filters, columns: columns ?? '', sort: isAscending ? '' : 'oldest' }
    const href = hashOf(['transactions'], other)
    return { chosen: columns, query, sort: { column: 'Created', isAscending, href, isTurned } }
  }, [route])
}

/** Where the names of the columns are not shown. */
export function OtherOrder({ sort: { isAscending, href } }: { sort: Sort }) {
  return (
    <a class="button narrow-only" href={href}>
      {isAscending ? 'Newest first' : 'Oldest first'}
    </a>
  )
}
