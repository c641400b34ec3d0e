import { sql } from 'kysely'

import type { Db } from '../database/database.ts'

export type RateGrant = {
  granted: number
  /** Of the limit, this grant included. */
  taken: number
  /** Names the time of the grant, to give back what is left of it. */
  slot: number
  /** Until the oldest of what is taken becomes free again. */
  freeAfterMs: number
}

/** Reserves up to `wanted` of a limit for this process, and gives back the rest of a grant. */
export async function takeRate(
  db: Db,
  options: {
    bucket: string
    limit: number
    windowMs: number
    wanted: number
    now: Date
    returned: { units: number; slot: number }
  },
): Promise<RateGrant> {
  const { bucket, limit, windowMs, wanted, now, returned } = options
  const { rows } = await sql<Omit<RateGrant, 'slot'> & { slot: bigint }>`
    select granted, taken, slot, free_after_ms as "freeAfterMs" from take_rate(
      ${bucket}::text, ${limit}::integer, ${windowMs}::integer, ${wanted}::integer,
      ${now}::timestamptz, ${returned.units}::integer, ${returned.slot}::bigint)`.execute(db)
  const [row] = rows
  return row
    ? { ...row, slot: Number(row.slot) }
    : { granted: 0, taken: limit, slot: 0, freeAfterMs: windowMs }
}
