import { sql, type RawBuilder } from 'kysely'

import type { Db } from '../database/database.ts'
import {
  findTransactions,
  isSearch,
  type PageRequest,
  type TransactionPage,
  type Wanted,
} from './found.ts'
import { countsOf } from './tallies.ts'
import { TRANSACTION, inUnits, type InDecimals, type Transaction } from './transactions.ts'

export type TransactionFilter = Wanted & { userId: number }

/**
 * One page, newest first, and the number of all that the filter takes. Both are read from one
 * snapshot, and neither takes longer the more there are. The number is exact, but for features that
 * many have.
 *
 * `bounds` are the places where a tally begins, each with the number of those at or after it. The
 * page begins in the tally that its offset falls into, and a time falls into one of them too; only
 * there are rows walked.
 */
export async function listTransactions(
  db: Db,
  filter: TransactionFilter,
  page: PageRequest,
): Promise<TransactionPage> {
  if (isSearch(filter)) return findTransactions(db, filter, page)
  const { rows } = await sql<CountedRow>`
    with changes as materialized (${changesOf(filter)}),
    weights as materialized (
      select since_at as at, since_id as id, ${countsOf(filter)} as weight, true as is_bound
      from transaction_tallies where user_id = ${filter.userId}
      union all
      select at, id, weight, false from changes where weight <> 0
    ), ranks as (
      select at, id, is_bound, sum(weight) over (
        order by at desc, id desc, is_bound rows unbounded preceding
      ) as above from weights
    ), bounds as materialized (
      select at, id, above from ranks where is_bound
      union all values
        ('infinity'::timestamptz, 0::bigint, 0::bigint), ('-infinity', 0, ${ALL})
    ), ends as materialized (
      select ${filter.until === undefined ? sql`0` : aboveOf(filter, filter.until)} as skipped,
        ${filter.from === undefined ? ALL : aboveOf(filter, filter.from)} as counted
    )
    select ends.counted - ends.skipped as total, t.*
    from ends left join lateral (${pageOf(filter, page)}) as t on true
    order by t."createdAt" desc, t.id desc`.execute(db)
  return shown(rows)
}

/** Where the page is empty there is one row, of the total alone. */
type CountedRow = { total: bigint } & (InDecimals<Transaction> | { id: null })

function shown(rows: readonly CountedRow[]): TransactionPage {
  return {
    total: Number(rows[0]?.total ?? 0n),
    isExact: true,
    stoppedAt: undefined,
    transactions: rows.flatMap((counted) => {
      const { total: _, ...row } = counted
      return row.id === null ? [] : [inUnits(row)]
    }),
  }
}

/** What the moves that are not counted in yet do to the number of those that the filter takes. */
function changesOf({ userId, type, status }: TransactionFilter): RawBuilder<unknown> {
  const weight =
    status === undefined
      ? sql`(m.from_status is null)::int`
      : sql`(m.to_status = ${status})::int - coalesce((m.from_status = ${status})::int, 0)`
  // The planner cannot know how few the moves are. Two bounds let it expect few, and OFFSET keeps
  // it from joining by a walk through all transactions.
  return sql`
    select t.created_at as at, t.id, ${weight} as weight
    from transaction_moves m cross join lateral (
      select id, type, created_at from transactions where id = m.internal_id offset 0
    ) as t
    where m.user_id = ${userId} and m.log_key <= 9223372036854775807 and m.log_key >=
        coalesce((select log_key from tally_horizons where user_id = ${userId}), 0)
      ${type === undefined ? sql`` : sql`and t.type = ${type}`}`
}

const ALL = sql`(select coalesce(sum(weight), 0)::bigint from weights)`

/**
 * How many of those that the filter takes are at or after a time: those from the bound before it
 * on, less the few in between. The walk goes up from the bound, since an index starts at a pair of
 * columns but stops only at its first.
 */
function aboveOf(filter: TransactionFilter, time: Date): RawBuilder<unknown> {
  return sql`(
    select earlier.above - (
      select count(*) from transactions t
      where ${isTaken(filter)} and (t.created_at, t.id) >= (earlier.at, earlier.id)
        and t.created_at < ${time}
    )
    from (select * from bounds where at < ${time} order by at desc, id desc limit 1) as earlier
  )`
}

/**
 * The rows of the page, between two bounds: the last one that is wholly above the page and the
 * first that is wholly below. Whichever plan is chosen, it has only a few tallies to read.
 */
function pageOf(filter: TransactionFilter, page: PageRequest): RawBuilder<unknown> {
  const { limit } = page
  const start =
    'after' in page
      ? sql`
        select ${page.after.createdAt}::timestamptz as at, ${page.after.id}::bigint as id,
          0 as skip, above as most
        from bounds
        where (at, id) <= (${page.after.createdAt}::timestamptz, ${page.after.id}::bigint)
        order by bounds.at desc, bounds.id desc limit 1`
      : sql`
        select at, id, ends.skipped + ${page.offset} - above as skip,
          ends.skipped + ${page.offset} as most
        from bounds where above <= ends.skipped + ${page.offset}
        order by at, id limit 1`
  return sql`
    select walked.* from (${start}) as start
    cross join lateral (
      select at, id from bounds where above >= start.most + ${limit} or at = '-infinity'
      order by at desc, id desc limit 1
    ) as stop
    cross join lateral (
      select ${TRANSACTION} from transactions t
      where ${isTaken(filter)} and (t.created_at, t.id) < (start.at, start.id)
        and (t.created_at, t.id) >= (stop.at, stop.id)
        ${filter.from === undefined ? sql`` : sql`and t.created_at >= ${filter.from}`}
      order by t.created_at desc, t.id desc limit ${limit} offset start.skip
    ) as walked`
}

function isTaken({ userId, type, status }: TransactionFilter): RawBuilder<unknown> {
  return sql.join(
    [
      sql`t.user_id = ${userId}`,
      ...(type === undefined ? [] : [sql`t.type = ${type}`]),
      ...(status === undefined ? [] : [sql`t.status = ${status}`]),
    ],
    sql` and `,
  )
}
