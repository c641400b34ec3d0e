import { sql, type RawBuilder } from 'kysely'

/** What the rails follow to its end, look by look, and what names a row of it. */
const FOLLOWED = {
  wires: 'id',
  charges: 'transaction_id',
  refunds: 'refund_id',
  disputes: 'dispute_id',
} as const

type Followed = keyof typeof FOLLOWED

export const FOLLOWED_TABLES = Object.keys(FOLLOWED) as readonly Followed[]

export type Due = { now: Date; until: Date; limit: number }

/**
 * The statement that takes what is due, past what others are taking. A worker that dies leaves it
 * to come again after `until`; one that comes too late no longer knows the number of the lease, and
 * writes nothing.
 */
export function leasing<Row>(table: Followed, { now, until, limit }: Due): RawBuilder<Row> {
  const key = sql.ref(FOLLOWED[table])
  return sql<Row>`
    update ${sql.table(table)} t set lease = t.lease + 1, tries = t.tries + 1, due_at = ${until}
    from (
      select ${key} as key from ${sql.table(table)} where due_at <= ${now}
      order by due_at, ${key} limit ${limit} for update skip locked
    ) due
    where t.${key} = due.key
    returning t.*`
}
