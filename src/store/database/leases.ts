import { sql } from 'kysely'

import type { Db } from './database.ts'
import { FOLLOWED_TABLES } from './due.ts'

/**
 * Takes back what was in the hands of processes that are gone, instead of waiting for each lease to
 * end: only for whoever knows that nobody else works on this database. What is due within the time
 * of a lease in any case is due at once, which costs one look.
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
