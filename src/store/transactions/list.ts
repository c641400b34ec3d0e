import { sql, type RawBuilder } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { TransactionStatus, TransactionType } from '../../domain/states.ts'
import type { Db } from '../database/database.ts'
import { countsOf } from './tallies.ts'
import { TRANSACTION, inUnits, type InDecimals, type Transaction } from './transactions.ts'

export type TransactionFilter = {
  userId: number
  type?: TransactionType | undefined
  status?: TransactionStatus | undefined
  /** From this time on. */
  from?: Date | undefined
  /** Before this time. */
  until?: Date | undefined
  /** Of any transaction on the chain that is, or was, to pay it, or that has paid it. */
  hash?: Hex | undefined
  /** Under which it stands, or a part of it, on the chain. */
  reference?: Hex | undefined
  externalId?: string | undefined
  batchId?: string | undefined
}

/** The last transaction of a page: the next page begins after it, whatever was added meanwhile. */
export type ListPlace = { createdAt: Date; id: bigint }

export type TransactionPage = {
  transactions: Transaction[]
  /** Of all that the filter takes, whatever the page. */
  total: number
}

/**
 * One page, newest first, and the exact number of all that the filter takes. Both are read from one
 * snapshot, and neither takes longer the more there are.
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
  const names = namesIn(filter)
  if (names.length > 0) return listNamed(db, filter, { names, page })
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
    transactions: rows.flatMap((counted) => {
      const { total: _, ...row } = counted
      return row.id === null ? [] : [inUnits(row)]
    }),
  }
}

/** What names a few, as conditions. */
function namesIn(filter: TransactionFilter): RawBuilder<unknown>[] {
  const { hash, reference, externalId, batchId } = filter
  return [
    hash && sql`t.transaction_id in (${ofHash(hash)})`,
    reference && sql`t.transaction_id in (${ofReference(reference)})`,
    externalId !== undefined && sql`t.external_id = ${externalId}`,
    batchId !== undefined && sql`t.batch_id = ${batchId}`,
  ].filter((name) => typeof name === 'object')
}

async function listNamed(
  db: Db,
  filter: TransactionFilter,
  { names, page }: { names: readonly RawBuilder<unknown>[]; page: PageRequest },
): Promise<TransactionPage> {
  const { from, until } = filter
  const { limit } = page
  const place =
    'after' in page
      ? sql`where ("createdAt", id) < (${page.after.createdAt}, ${page.after.id}::bigint)`
      : sql`offset ${page.offset}`
  const { rows } = await sql<CountedRow>`
    with found as materialized (
      select ${TRANSACTION} from transactions t
      where ${isTaken(filter)} and ${sql.join(names, sql` and `)}
        ${from === undefined ? sql`` : sql`and t.created_at >= ${from}`}
        ${until === undefined ? sql`` : sql`and t.created_at < ${until}`}
    )
    select counted.total, shown.* from (select count(*) as total from found) as counted
    left join lateral (
      select * from (select * from found order by "createdAt" desc, id desc) as sorted
      ${place} limit ${limit}
    ) as shown on true
    order by "createdAt" desc, id desc`.execute(db)
  return shown(rows)
}

const OUR_CHAIN = sql`(select chain_id from installation)`

function ofHash(hash: Hex): RawBuilder<unknown> {
  return sql`
    select transaction_id from transactions where eth_transaction_hash = ${hash}
    union all
    select o.subject from attempts a join orders o on o.id = a.order_id
    where a.chain_id = ${OUR_CHAIN} and a.hash = ${hash}
    union all
    select o.subject from attempts a join orders o on o.bundle = a.order_id
    where a.chain_id = ${OUR_CHAIN} and a.hash = ${hash}
    union all
    select transaction_id from checkout_payments
    where chain_id = ${OUR_CHAIN} and transaction_hash = ${hash}`
}

/** The parts of a checkout differ from its own reference in the last byte. */
function ofReference(reference: Hex): RawBuilder<unknown> {
  return sql`
    select subject from orders where chain_id = ${OUR_CHAIN} and reference = ${reference}
    union all
    select transaction_id from charges
    where reference is not null and left(reference, 64) = left(${reference}::text, 64)`
}

export type PageRequest = { limit: number } & ({ offset: number } | { after: ListPlace })

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
