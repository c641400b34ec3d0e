import { sql, type RawBuilder } from 'kysely'

import type { Db } from './database.ts'
import type { Columns } from './rows.ts'

/**
 * Takes back the leases of processes that are gone, instead of waiting for each lease to end. Call
 * it only when no other process works on this database. Rows that are due within the time of a
 * lease anyway become due at once as well, which costs one look.
 */
export async function takeBackLeases(
  db: Db,
  { now, leaseMs }: { now: Date; leaseMs: number },
): Promise<void> {
  const until = new Date(now.getTime() + leaseMs)
  await sql`update lane_leases set leased_until = '-infinity'`.execute(db)
  await sql`update runs set leased_until = '-infinity' where state = 'running'`.execute(db)
  for (const table of FOLLOWED_TABLES) {
    await sql`
      update ${sql.table(table)} set due_at = ${now}
      where due_at > ${now} and due_at <= ${until}`.execute(db)
  }
  await sql`
    update webhook_deliveries set is_leased = false, due_at = now()
    where is_leased`.execute(db)
}

/** What the rails follow to its end, look by look, and what names a row of it. */
const FOLLOWED = {
  wires: 'id',
  charges: 'transaction_id',
  refunds: 'refund_id',
  disputes: 'dispute_id',
} as const

export type Followed = keyof typeof FOLLOWED

const FOLLOWED_TABLES = Object.keys(FOLLOWED) as readonly Followed[]

/** How long it is until one of them is due: 0 or less where one is, infinite where none is open. */
export async function msUntilDue(
  db: Db,
  { tables, now }: { tables: readonly Followed[]; now: Date },
): Promise<number> {
  const firsts = tables.map((table) => sql`select min(due_at) as at from ${sql.table(table)}`)
  const { rows } = await sql<{ at: Date | null }>`
    select min(at) as at from (${sql.join(firsts, sql` union all `)}) as due`.execute(db)
  const at = rows[0]?.at
  return at ? at.getTime() - now.getTime() : Infinity
}

export type Due = { now: Date; until: Date; limit: number }

/**
 * The statement that takes what is due, past what others are taking. A worker that dies leaves it
 * to come again after `until`; one that comes too late no longer knows the number of the lease, and
 * writes nothing.
 */
export function leasing<T>(
  table: Followed,
  { now, until, limit }: Due,
  columns?: Columns<T>,
): RawBuilder<unknown> {
  const key = sql.ref(FOLLOWED[table])
  return sql`
    update ${sql.table(table)} t set lease = t.lease + 1, tries = t.tries + 1, due_at = ${until}
    from (
      select ${key} as key from ${sql.table(table)} where due_at <= ${now}
      order by due_at, ${key} limit ${limit} for update skip locked
    ) due
    where t.${key} = due.key
    returning ${columns?.of('t') ?? sql`t.*`}`
}

/** Lays a row aside until it is due, or for good; unless there was news of it meanwhile. */
export async function layAside(
  db: Db,
  row: { table: 'charges' | 'disputes'; key: string; lease: number; wakes: number },
  next: { dueAt: Date | undefined; trouble: string | undefined },
): Promise<void> {
  await sql`
    update ${sql.table(row.table)} set trouble = ${next.trouble ?? null},
      due_at = case when wakes = ${row.wakes} then ${next.dueAt ?? null}::timestamptz
        else '-infinity' end
    where ${sql.ref(FOLLOWED[row.table])} = ${row.key} and lease = ${row.lease}`.execute(db)
}
