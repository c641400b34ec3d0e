import { createHash } from 'node:crypto'

import { sql } from 'kysely'

import type { Db } from '../database/database.ts'

/**
 * The one run of a watch, by the name under which it stands among those that find breaks. It never
 * ends and is never taken by a worker: every break names the run that saw it.
 */
export async function ensureWatchRun(
  db: Db,
  watch: { source: 'supply' | 'checkouts'; chainId: number; now: Date },
): Promise<bigint> {
  const { source, chainId, now } = watch
  const digest = createHash('sha256').update(`${source}/${chainId}`).digest('hex')
  const runId = `RUN${digest.slice(0, 24)}`
  const { rows } = await sql<{ id: bigint }>`
    insert into runs (run_id, chain_id, source, state, requested_by, created_at, started_at,
      updated_at, ended_at)
    values (${runId}, ${chainId}, ${source}, 'completed', ${`the watch over the ${source}`},
      ${now}, ${now}, ${now}, ${now})
    on conflict (run_id) do update set updated_at = excluded.updated_at
    returning id`.execute(db)
  return rows[0]!.id
}
