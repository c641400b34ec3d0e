import { sql, type RawBuilder } from 'kysely'

import {
  TRANSACTION_STATUSES,
  TRANSACTION_TYPES,
  type TransactionStatus,
  type TransactionType,
} from '../../domain/states.ts'
import type { Db } from '../database/database.ts'

/**
 * Counts the moves of a user into the tallies, up to the horizon. Nobody waits for it: where
 * another transaction is at it already, this does nothing.
 */
export async function foldTallies(
  db: Db,
  { userId, size = TALLY_SIZE }: { userId: number; size?: number },
): Promise<void> {
  await locked(db, userId, async (open) => {
    await createFirstTally(open, userId)
    await applyMoves(open, userId)
    await splitTallies(open, { userId, size, above: 2 * size })
  })
}

/**
 * Counts all transactions of a user anew, from their rows. For rows that came in by other ways than
 * `recordTransaction`, such as an import, and for a repair. False where another transaction is at
 * it.
 *
 * @public
 */
export async function recountTallies(
  db: Db,
  { userId, size = TALLY_SIZE }: { userId: number; size?: number },
): Promise<boolean> {
  return locked(db, userId, async (open) => {
    await createFirstTally(open, userId)
    await advanceHorizon(open, userId)
    await splitTallies(open, { userId, size, above: -1 })
  })
}

/**
 * How many of a user's transactions one tally counts: to add up a million is to read a thousand
 * tallies, and to find a place inside one is to walk along a thousand index entries.
 */
const TALLY_SIZE = 1000

/** One move in that many folds what has gathered: often enough that little is left to a reader. */
export const FOLD_EVERY = 256n

/** The sum of those places in `counts` that the filter takes. */
export function countsOf(filter: {
  type?: TransactionType | undefined
  status?: TransactionStatus | undefined
}): RawBuilder<unknown> {
  if (filter.type === undefined && filter.status === undefined) return sql`total`
  const slots = TRANSACTION_TYPES.flatMap((type, row) =>
    TRANSACTION_STATUSES.map((status, column) => ({
      type,
      status,
      slot: row * TRANSACTION_STATUSES.length + column + 1,
    })),
  ).filter(
    ({ type, status }) => type === (filter.type ?? type) && status === (filter.status ?? status),
  )
  return sql.join(
    slots.map(({ slot }) => sql`counts[${sql.lit(slot)}]`),
    sql` + `,
  )
}

/** In the caller's transaction, or in one of its own: the lock must hold until the tallies do. */
async function locked(db: Db, userId: number, work: (open: Db) => Promise<void>): Promise<boolean> {
  if (!db.isTransaction) return db.transaction().execute((open) => locked(open, userId, work))
  // Each statement sees what was committed before it, so also what the last holder did.
  if (!(await tryLockTallies(db, userId))) return false
  await work(db)
  return true
}

async function tryLockTallies(db: Db, userId: number): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('transaction_tallies'), ${userId}::int) as locked
    `.execute(db)
  return rows[0]?.locked ?? false
}

/** The tallies of a user cover all of time from the first fold on. */
async function createFirstTally(db: Db, userId: number): Promise<void> {
  await sql`
    insert into transaction_tallies (user_id, since_at, since_id, total, counts)
    values (${userId}, '-infinity', 0, 0, array_fill(0, array[25]))
    on conflict do nothing`.execute(db)
}

/**
 * Every move below the horizon is in sight, and none will be added there, so each is counted once:
 * by the fold that takes the horizon past it.
 *
 * OFFSET 0 keeps the planner from joining by a walk through all transactions, here and below.
 */
async function applyMoves(db: Db, userId: number): Promise<void> {
  await sql`
    with span as (
      select coalesce((select log_key from tally_horizons where user_id = ${userId}), 0) as since,
        log_horizon() as until
    ), deltas as (
      select tally.since_at, tally.since_id, change.slot, sum(change.delta) as delta
      from span
      join transaction_moves m
        on m.user_id = ${userId} and m.log_key >= span.since and m.log_key < span.until
      cross join lateral (
        select id, type, created_at from transactions where id = m.internal_id offset 0
      ) as t
      cross join lateral (
        values (tally_slot(t.type, m.from_status), -1), (tally_slot(t.type, m.to_status), 1)
      ) as change (slot, delta)
      cross join lateral (
        select since_at, since_id from transaction_tallies
        where user_id = ${userId} and (since_at, since_id) <= (t.created_at, t.id)
        order by since_at desc, since_id desc limit 1
      ) as tally
      where change.slot is not null
      group by tally.since_at, tally.since_id, change.slot
    ), applied as (
      update transaction_tallies tally
      set total = tally.total + change.total,
        counts = array(
          select number + coalesce(delta, 0)
          from unnest(tally.counts) with ordinality as counted (number, slot)
          left join deltas on (deltas.since_at, deltas.since_id, deltas.slot)
            = (tally.since_at, tally.since_id, counted.slot)
          order by counted.slot
        )
      from (
        select since_at, since_id, sum(delta) as total from deltas group by since_at, since_id
      ) as change
      where tally.user_id = ${userId}
        and (tally.since_at, tally.since_id) = (change.since_at, change.since_id)
    )
    insert into tally_horizons (user_id, log_key)
    select ${userId}, until from span
    on conflict (user_id) do update set log_key = excluded.log_key`.execute(db)
}

async function advanceHorizon(db: Db, userId: number): Promise<void> {
  await sql`
    insert into tally_horizons (user_id, log_key) values (${userId}, log_horizon())
    on conflict (user_id) do update set log_key = excluded.log_key`.execute(db)
}

/**
 * Cuts each tally that has grown too large into tallies of the usual size. Their numbers are what
 * the transactions say now, less the moves in sight that are not counted in yet.
 */
async function splitTallies(
  db: Db,
  options: { userId: number; size: number; above: number },
): Promise<void> {
  const { userId, size, above } = options
  await sql`
    with large as (
      select * from (
        select since_at, since_id, total,
          coalesce(lead(since_at) over later, 'infinity') as until_at,
          coalesce(lead(since_id) over later, 0) as until_id
        from transaction_tallies where user_id = ${userId}
        window later as (order by since_at, since_id)
      ) as tally where total > ${above}
    ), members as (
      select large.since_at, large.since_id, large.until_at, large.until_id, t.created_at, t.id,
        tally_slot(t.type, t.status) as slot,
        (row_number() over (
          partition by large.since_at, large.since_id order by t.created_at, t.id
        ) - 1) / ${size}::int as part
      from large cross join lateral (
        select id, created_at, type, status from transactions
        where user_id = ${userId} and (created_at, id) >= (large.since_at, large.since_id)
          and (created_at, id) < (large.until_at, large.until_id) offset 0
      ) as t
    ), firsts as (
      select distinct on (since_at, since_id, part) since_at, since_id, until_at, until_id, part,
        case part when 0 then since_at else created_at end as first_at,
        case part when 0 then since_id else id end as first_id
      from members order by since_at, since_id, part, created_at, id
    ), numbers as (
      select since_at, since_id, part, slot, count(*) as number from members
      group by since_at, since_id, part, slot
      union all
      select home.since_at, home.since_id, home.part, change.slot, change.number
      from transaction_moves m
      cross join lateral (
        select id, type, created_at from transactions where id = m.internal_id offset 0
      ) as t
      cross join lateral (
        values (tally_slot(t.type, m.from_status), 1), (tally_slot(t.type, m.to_status), -1)
      ) as change (slot, number)
      cross join lateral (
        select since_at, since_id, until_at, until_id, part from firsts
        where (first_at, first_id) <= (t.created_at, t.id)
        order by first_at desc, first_id desc limit 1
      ) as home
      where m.user_id = ${userId} and change.slot is not null
        and (t.created_at, t.id) < (home.until_at, home.until_id)
        and m.log_key <= 9223372036854775807
        and m.log_key >= (select log_key from tally_horizons where user_id = ${userId})
    ), sums as (
      select since_at, since_id, part, slot, sum(number) as number from numbers
      group by since_at, since_id, part, slot
    )
    insert into transaction_tallies (user_id, since_at, since_id, total, counts)
    select ${userId}, firsts.first_at, firsts.first_id,
      (select coalesce(sum(number), 0) from sums
       where (sums.since_at, sums.since_id, sums.part)
         = (firsts.since_at, firsts.since_id, firsts.part)),
      array(
        select coalesce(sums.number, 0) from generate_series(1, 25) as place (slot)
        left join sums on (sums.since_at, sums.since_id, sums.part, sums.slot)
          = (firsts.since_at, firsts.since_id, firsts.part, place.slot)
        order by place.slot
      )
    from firsts
    on conflict (user_id, since_at, since_id)
    do update set total = excluded.total, counts = excluded.counts`.execute(db)
}
