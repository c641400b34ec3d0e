import { sql, type RawBuilder } from 'kysely'

import type { Db } from './database.ts'

/** What outlives its use, and the column that tells for how long. */
const PRUNABLE = {
  answers: ['idempotent_requests', 'created_at'],
  rateLimits: ['rate_limits', 'updated_at'],
  samples: ['overview_samples', 'at'],
  spans: ['overview_spans', 'start_at'],
  traces: ['traces', 'created_at'],
} as const

export type Prunable = keyof typeof PRUNABLE

/** Deletes a batch of older rows that nobody else has locked, and returns their number. */
export async function prune(
  db: Db,
  wanted: { what: Prunable; olderThan: Date; limit: number },
): Promise<number> {
  const [table, age] = PRUNABLE[wanted.what]
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${sql.ref(age)} < ${wanted.olderThan}
      limit ${wanted.limit} for update skip locked
    ))`.execute(db)
  return Number(numAffectedRows)
}

/**
 * Vacuums or analyzes the table that needs it most, as autovacuum does on a server: the embedded
 * database has no autovacuum. This frees the space of replaced and deleted rows, and updates the
 * statistics of the planner. It does one of the two, since nobody else is answered meanwhile.
 * Returns the name of the table, or undefined where none needs it.
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
  const { name, is_dirty: isDirty } = table
  await sql`${isDirty ? sql`vacuum` : sql`analyze`} ${sql.table(name)}`.execute(db)
  return name
}

/** The thresholds of a server. */
function shareOf(share: number): RawBuilder<number> {
  return sql`50 + ${share}::double precision * n_live_tup`
}
