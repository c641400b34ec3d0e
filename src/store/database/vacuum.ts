import { sql, type RawBuilder } from 'kysely'

import type { Db } from './database.ts'

/**
 * Tends the table that needs it most, as a server does by itself: the embedded database has nobody
 * who does. What is replaced or deleted is room again, and queries are planned by what is there.
 * Tells which table it was; undefined where none needs it.
 */
export async function vacuumNext(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ name: string; is_dirty: boolean }>`
    select name, is_dirty from (
      select relname as name, n_dead_tup > ${shareOf(0.2)} as is_dirty,
        n_mod_since_analyze > ${shareOf(0.1)} as is_unknown,
        greatest(n_dead_tup, n_mod_since_analyze) as changes
      from pg_stat_user_tables where schemaname = current_schema()
    ) as tables
    where is_dirty or is_unknown order by changes desc limit 1`.execute(db)
  const [table] = rows
  if (table === undefined) return undefined
  // One that has nothing to clear is only looked at, which is far quicker.
  const { name, is_dirty: isDirty } = table
  const task = isDirty ? sql`vacuum (analyze)` : sql`analyze`
  await sql`${task} ${sql.table(name)}`.execute(db)
  return name
}

/** The thresholds of a server. */
function shareOf(share: number): RawBuilder<number> {
  return sql`50 + ${share}::double precision * n_live_tup`
}
