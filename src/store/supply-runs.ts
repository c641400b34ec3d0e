import { createHash } from 'node:crypto'

import { sql } from 'kysely'

import type { Db } from './database.ts'

/** Under which name the watch over the supply stands among those that find breaks. */
export const SUPPLY_SOURCE = 'supply'

/**
 * The one run of the watch over the supply, which never ends and is never taken by a worker: every
 * break names the run that saw it.
 */
export async function ensureSupplyRun(
  db: Db,
  wanted: { chainId: number; now: Date },
): Promise<bigint> {
  const { chainId, now } = wanted
  const digest = createHash('sha256').update(`${SUPPLY_SOURCE}/${chainId}`).digest('hex')
  const runId = `RUN${digest.slice(0, 24)}`
  const { rows } = await sql<{ id: bigint }>`
    insert into runs (run_id, chain_id, source, state, requested_by, created_at, started_at,
      updated_at, ended_at)
    values (${runId}, ${chainId}, ${SUPPLY_SOURCE}, 'completed', 'the watch over the supply',
      ${now}, ${now}, ${now}, ${now})
    on conflict (run_id) do update set updated_at = excluded.updated_at
    returning id`.execute(db)
  return rows[0]!.id
}
