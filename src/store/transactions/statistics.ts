import { sql } from 'kysely'

import type { Db } from '../database/database.ts'

/** What happened on one day, in UTC. */
export type StatisticsDay = {
  /** As `2025-03-14`. */
  day: string
  transactions: number
  failed: number
  volume: { currency: string; amount: string }[]
  /** From the acceptance of an order to its final block. */
  finalP50: number | null
  finalP95: number | null
  feesWei: bigint
  breaksOpened: number
  breaksClosed: number
}

type Wanted = { chainId: number; since: Date; until: Date }

/** Oldest first; a day on which nothing happened has zeros. */
export async function readStatistics(db: Db, wanted: Wanted): Promise<StatisticsDay[]> {
  const { since, until } = wanted
  const [counts, paid, breaks] = [
    await countByDay(db, wanted),
    await readOrdersByDay(db, wanted),
    await countBreaksByDay(db, wanted),
  ]
  const days: StatisticsDay[] = []
  for (let at = since.getTime(); at < until.getTime(); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10)
    const ofDay = counts.filter((row) => row.day === day)
    const orders = paid.find((row) => row.day === day)
    const found = breaks.find((row) => row.day === day)
    days.push({
      day,
      transactions: ofDay.reduce((sum, { count }) => sum + Number(count), 0),
      failed: ofDay.reduce((sum, { failed }) => sum + Number(failed), 0),
      volume: ofDay.flatMap(({ currency, amount }) => (amount ? [{ currency, amount }] : [])),
      finalP50: orders?.p50 ?? null,
      finalP95: orders?.p95 ?? null,
      feesWei: orders?.fees ?? 0n,
      breaksOpened: Number(found?.opened ?? 0),
      breaksClosed: Number(found?.closed ?? 0),
    })
  }
  return days
}

const DAY_MS = 86_400_000

function dayOf(column: string) {
  return sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD')`
}

type CountRow = {
  day: string
  currency: string
  count: bigint
  failed: bigint
  amount: string | null
}

async function countByDay(db: Db, { since, until }: Wanted): Promise<CountRow[]> {
  const { rows } = await sql<CountRow>`
    select ${dayOf('created_at')} as day, currency, count(*) as count,
      count(*) filter (where status = 'failed') as failed,
      trim_scale(sum(amount) filter (where status in ('completed', 'refunded')))::text as amount
    from transactions where created_at >= ${since} and created_at < ${until}
    group by 1, 2 order by 1, 2`.execute(db)
  return rows
}

type OrderRow = { day: string; p50: number | null; p95: number | null; fees: bigint }

async function readOrdersByDay(db: Db, { chainId, since, until }: Wanted): Promise<OrderRow[]> {
  const { rows } = await sql<OrderRow>`
    select ${dayOf('accepted_at')} as day,
      percentile_cont(0.5) within group (order by seconds) filter (where state = 'completed')
        as p50,
      percentile_cont(0.95) within group (order by seconds) filter (where state = 'completed')
        as p95,
      coalesce(sum(fee), 0)::numeric as fees
    from (
      select o.accepted_at, o.state,
        extract(epoch from o.updated_at - o.accepted_at)::double precision as seconds, a.fee
      from orders o left join lateral (
        select sum(gas_used * gas_price) as fee from attempts
        where order_id = o.id and state = 'final'
      ) as a on true
      where o.chain_id = ${chainId} and o.accepted_at >= ${since} and o.accepted_at < ${until}
    ) as done group by 1 order by 1`.execute(db)
  return rows
}

type BreakRow = { day: string; opened: bigint; closed: bigint }

async function countBreaksByDay(db: Db, { chainId, since, until }: Wanted): Promise<BreakRow[]> {
  const { rows } = await sql<BreakRow>`
    select day, count(*) filter (where is_opening) as opened,
      count(*) filter (where not is_opening) as closed
    from (
      select ${dayOf('m.moved_at')} as day, m.action in ('opened', 'reopened') as is_opening
      from break_moves m join breaks b on b.id = m.break_key
      where b.chain_id = ${chainId} and m.moved_at >= ${since} and m.moved_at < ${until}
        and m.action <> 'verified'
    ) as moves group by 1 order by 1`.execute(db)
  return rows
}
