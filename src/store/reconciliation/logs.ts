import { sql } from 'kysely'

import type { Db } from '../database/database.ts'

/**
 * Makes the keys of this server go on after those that the tables already carry. A dump that was
 * restored elsewhere brings keys of a server whose transaction ids were higher: without this, new
 * rows would be filed among old ones, and readers past them would never see them.
 *
 * Each key of a transaction is also that of an event, and of those one index entry per user tells.
 */
export async function continueLogs(db: Db): Promise<void> {
  await sql`
    insert into log_clock (base)
    select latest.log_key - pg_current_xact_id()::text::bigint + 1
    from (
      select greatest(
        (select max(log_key) from tally_horizons),
        (
          select max(last.log_key) from users cross join lateral (
            select log_key from events where user_id = users.id order by log_key desc limit 1
          ) as last
        )
      ) as log_key
    ) latest
    where latest.log_key > log_key_now()
    on conflict (id) do update set base = excluded.base`.execute(db)
}
