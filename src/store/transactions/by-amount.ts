import { sql, type RawBuilder } from 'kysely'

import type { Db } from '../database/database.ts'
import { TRANSACTION, inUnits, type InDecimals, type Transaction } from './transactions.ts'

/** Amounts of two currencies have no order in common. */
export type PricedFilter = {
  currency: string
  /** Absent: everybody's. */
  userId?: number | undefined
  /** Decimals of the currency, both included. */
  minAmount?: string | undefined
  maxAmount?: string | undefined
}

export type AmountOrder = 'largest' | 'smallest'

/** The last transaction of a page by amount, a decimal. */
export type AmountPlace = { amount: string; id: bigint }

export type AmountPage = { sort: AmountOrder; after?: AmountPlace | undefined; limit: number }

/** One page, with the largest amounts first, or with the smallest. */
export async function listByAmount(
  db: Db,
  filter: PricedFilter,
  page: AmountPage,
): Promise<Transaction[]> {
  const order = page.sort === 'largest' ? sql`desc` : sql`asc`
  const { rows } = await sql<InDecimals<Transaction>>`
    select t.* from (
      select amount, internal_id from transaction_features
      where ${takes(filter, page)}
      order by amount ${order}, internal_id ${order} limit ${page.limit}
    ) as place cross join lateral (
      select ${TRANSACTION} from transactions t where t.id = place.internal_id offset 0
    ) as t
    order by place.amount ${order}, place.internal_id ${order}`.execute(db)
  return rows.map(inUnits)
}

/** How many there are, counted up to a limit. */
export async function countByAmount(db: Db, filter: PricedFilter, limit: number): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) from (
      select from transaction_features where ${takes(filter)} limit ${limit}
    ) as found`.execute(db)
  return Number(rows[0]?.count ?? 0n)
}

function takes(filter: PricedFilter, page?: AmountPage): RawBuilder<unknown> {
  const { currency, userId } = filter
  return sql`currency = ${currency} ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
    ${atLeast(filter, page)} ${atMost(filter, page)}`
}

// A walk begins at one bound alone, so the place and the filter make one.

function atLeast({ minAmount }: PricedFilter, page?: AmountPage): RawBuilder<unknown> {
  const { sort, after } = page ?? {}
  if (sort === 'smallest' && after) {
    const amount = sql`greatest(${after.amount}::numeric, ${minAmount ?? null}::numeric)`
    return sql`and (amount, internal_id) > (${amount}, ${after.id}::bigint)`
  }
  return minAmount === undefined ? sql`` : sql`and amount >= ${minAmount}::numeric`
}

function atMost({ maxAmount }: PricedFilter, page?: AmountPage): RawBuilder<unknown> {
  const { sort, after } = page ?? {}
  if (sort === 'largest' && after) {
    const amount = sql`least(${after.amount}::numeric, ${maxAmount ?? null}::numeric)`
    return sql`and (amount, internal_id) < (${amount}, ${after.id}::bigint)`
  }
  return maxAmount === undefined ? sql`` : sql`and amount <= ${maxAmount}::numeric`
}
