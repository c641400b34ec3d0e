import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'

/** A mint, a redeem or a wire of any user, in one form for those who look after all of them. */
export type Movement = {
  seq: bigint
  id: string
  kind: 'mint' | 'redeem' | 'wire'
  userId: number
  username: string
  walletId: bigint
  amount: bigint
  currency: string
  status: string
  errorCode: string | undefined
  /** An address, or the name of who is paid. */
  to: string | undefined
  transactionHash: Hex | undefined
  createdAt: Date
  updatedAt: Date
}

const TRANSFER = columnsOf<Movement>()(`m.seq, m.id, m.kind, m.user_id, u.username, m.wallet_id,
  m.amount, m.currency, m.status, m.error_code, m.address as to, m.transaction_hash, m.created_at,
  m.updated_at`)

const WIRE = columnsOf<Movement>()(`m.seq, m.id, m.kind, m.user_id, u.username, m.wallet_id,
  m.amount, m.currency, m.status, m.error_code, m.beneficiary_name as to, m.transaction_hash,
  m.created_at, m.updated_at`)

export type MovementsWanted = {
  kind: Movement['kind']
  userId?: number | undefined
  before?: bigint | undefined
  limit: number
}

/** Newest first. */
export async function listMovements(db: Db, wanted: MovementsWanted): Promise<Movement[]> {
  const { kind, userId, before, limit } = wanted
  const takes = sql`
    ${userId === undefined ? sql`` : sql`and m.user_id = ${userId}`}
    ${before === undefined ? sql`` : sql`and m.seq < ${before}`}
    order by m.seq desc limit ${limit}`
  if (kind !== 'wire') {
    return readAll<Movement>(db)`
      select ${TRANSFER} from transfers m join users u on u.id = m.user_id
      where m.kind = ${kind} ${takes}`
  }
  return readAll<Movement>(db)`
    select ${WIRE}
    from (select *, 'wire' as kind, null::text as transaction_hash from payments) m
    join users u on u.id = m.user_id
    where true ${takes}`
}
