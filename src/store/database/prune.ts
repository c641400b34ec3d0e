import { sql } from 'kysely'

import type { Db } from './database.ts'

/** What outlives its use, and the column that tells for how long. */
const PRUNABLE = {
  answers: ['idempotent_requests', 'created_at'],
  rateLimits: ['rate_limits', 'updated_at'],
  samples: ['overview_samples', 'at'],
  spans: ['overview_spans', 'start_at'],
} as const

export type Prunable = keyof typeof PRUNABLE

/** Removes a batch of what is older, past what others hold; tells how many. */
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
