import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readOne } from '../database/rows.ts'

export type BlockId = { number: bigint; hash: Hex }

/** How far the follower has read. The final block is undefined until the chain has one. */
export type ChainCursor = { head: BlockId; final: BlockId | undefined; reorgs: bigint }

const CURSOR = columnsOf<ChainCursor>()(`head_number as head.number, head_hash as head.hash,
  final_number as final.number, final_hash as final.hash, reorgs`)

export async function readCursor(db: Db, chainId: number): Promise<ChainCursor | undefined> {
  return readOne<ChainCursor>(db)`
    select ${CURSOR} from chain_cursors where chain_id = ${chainId}`
}

/** No guard: the newest look wins, and a lost one only makes the next look repeat the same work. */
export async function writeCursor(
  db: Db,
  cursor: {
    chainId: number
    head: BlockId
    final: BlockId | undefined
    isReorg: boolean
    now: Date
  },
): Promise<void> {
  const { head, final } = cursor
  await sql`
    insert into chain_cursors (chain_id, head_number, head_hash, final_number, final_hash, reorgs,
      updated_at)
    values (${cursor.chainId}, ${head.number}, ${head.hash}, ${final?.number ?? null},
      ${final?.hash ?? null}, ${cursor.isReorg ? 1 : 0}, ${cursor.now})
    on conflict (chain_id) do update set head_number = excluded.head_number,
      head_hash = excluded.head_hash, final_number = excluded.final_number,
      final_hash = excluded.final_hash, reorgs = chain_cursors.reorgs + excluded.reorgs,
      updated_at = excluded.updated_at`.execute(db)
}
