import { sql } from 'kysely'

import type { Db } from './database.ts'

/** How long the open transaction waits for each lock that another one holds. */
export async function limitLockWait(db: Db, ms: number): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${ms}ms`}, true)`.execute(db)
}
