import { sql } from 'kysely'

import type { Db } from '../../src/store/database.ts'

/** How many rows of the table the work reads, by whatever way. */
export async function rowsRead(
  db: Db,
  table: string,
  work: (open: Db) => Promise<unknown>,
): Promise<number> {
  return db.transaction().execute(async (open) => {
    const before = await readSoFar(open, table)
    await work(open)
    return (await readSoFar(open, table)) - before
  })
}

/** Of the open transaction. */
async function readSoFar(open: Db, table: string): Promise<number> {
  const { rows } = await sql<{ read: string }>`
    select coalesce(idx_tup_fetch, 0) + seq_tup_read as read
    from pg_stat_xact_user_tables where relname = ${table}`.execute(open)
  return Number(rows[0]!.read)
}
