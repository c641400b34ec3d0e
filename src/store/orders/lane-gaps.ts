import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { readAll } from '../database/rows.ts'

/** A lane, and the first of its nonces that is ours to account for. */
export type LaneSpan = { signer: Hex; first: bigint }

export async function listLaneSpans(
  db: Db,
  page: { chainId: number; after: string; limit: number },
): Promise<LaneSpan[]> {
  const { rows } = await sql<LaneSpan>`
    select l.signer, coalesce(lowest.nonce, l.next_nonce) as first
    from nonce_lanes l
    left join lateral (
      select nonce from lane_nonces n
      where n.chain_id = l.chain_id and n.signer = l.signer order by nonce limit 1
    ) as lowest on true
    where l.chain_id = ${page.chainId} and l.signer > ${page.after}
    order by l.signer limit ${page.limit}`.execute(db)
  return rows
}

/** A nonce below the bound that none of our transactions is known to have taken. */
export type OpenGap = { nonce: bigint; takenBy: Hex | undefined }

export async function listGaps(
  db: Db,
  lane: { chainId: number; signer: Hex; from: bigint; below: bigint; limit: number },
): Promise<OpenGap[]> {
  return readAll<OpenGap>(db)`
    select series.nonce, n.taken_by as "takenBy"
    from generate_series(${lane.from}::bigint, ${lane.below}::bigint - 1) as series (nonce)
    left join lane_nonces n on n.chain_id = ${lane.chainId} and n.signer = ${lane.signer}
      and n.nonce = series.nonce
    where n.state is distinct from 'used'
    order by series.nonce limit ${lane.limit}`
}
