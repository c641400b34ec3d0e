import { useMemo, useRef } from 'preact/hooks'

import { hashOf, type Route } from '../route.ts'
import type { Sorting } from './rows.tsx'

type View = {
  /** The columns that are chosen, as the address names them. */
  chosen: string | undefined
  /** What the platform is asked for. */
  query: Route['query']
  /** As the platform calls it, such as `newest`. */
  order: string
  sorting: Sorting
  /** The other orders that the list can have. */
  others: readonly { order: string; href: string }[]
}

const COLUMN_OF: Readonly<Record<string, string>> = {
  newest: 'Created',
  oldest: 'Created',
  largest: 'Amount',
  smallest: 'Amount',
}
const ASCENDING: ReadonlySet<string> = new Set(['oldest', 'smallest'])

const TIMED: ReadonlySet<string> = new Set(['user_id', 'type', 'status', 'start_date', 'end_date'])
const PRICED: ReadonlySet<string> = new Set(['user_id', 'currency', 'min_amount', 'max_amount'])

/** The orders in which the platform lists what these filters take. */
function ordersOf(filters: Route['query']): string[] {
  const names = Object.keys(filters)
  const isPriced = filters['currency'] !== undefined && names.every((name) => PRICED.has(name))
  return [
    'newest',
    ...(names.every((name) => TIMED.has(name)) ? ['oldest'] : []),
    ...(isPriced ? ['largest', 'smallest'] : []),
  ]
}

/** The filters, the order and the columns of a list: the address has all of them. */
export function useView(route: Route): View {
  const turned = useRef<string>(undefined)
  // The same object until one goes elsewhere: with a new one the fields would be filled in anew.
  return useMemo(() => {
    const { columns, sort = 'newest', ...filters } = route.query
    const orders = ordersOf(filters)
    const order = orders.includes(sort) ? sort : 'newest'
    const hrefOf = (sort: string): string => {
      const asked = sort === 'newest' ? '' : sort
      return hashOf(['transactions'], { ...filters, columns: columns ?? '', sort: asked })
    }
    const others = orders
      .filter((one) => one !== order)
      .map((one) => ({ order: one, href: hrefOf(one) }))
    return {
      chosen: columns,
      query: order === 'newest' ? filters : { ...filters, sort: order },
      order,
      others,
      sorting: {
        column: orders.length > 1 ? COLUMN_OF[order] : undefined,
        isAscending: ASCENDING.has(order),
        links: others.map((one) => ({
          column: COLUMN_OF[one.order] ?? '',
          title: `Show the ${one.order} first`,
          href: one.href,
        })),
        hints: orders.includes('largest') ? {} : HINTS,
        turned,
      },
    }
  }, [route])
}

const HINTS = { Amount: 'To sort by amount, choose a currency and no other filter but the user' }

/** Where the names of the columns are not shown. */
export function OtherOrders({ others }: Pick<View, 'others'>) {
  return (
    <>
      {others.map(({ order, href }) => (
        <a key={order} class="button narrow-only" href={href}>
          {order.charAt(0).toUpperCase() + order.slice(1)} first
        </a>
      ))}
    </>
  )
}
