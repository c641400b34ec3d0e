import { sql } from 'kysely'

import type { TransactionStatus } from '../../domain/states.ts'
import type { Db } from '../database/database.ts'

/** Something that happened to a user's transaction, or to a batch of them. */
export type Event = {
  id: bigint
  type: string
  /** The public id of it. */
  subject: string
  data: {
    status: TransactionStatus
    previous_status: TransactionStatus | null
    reason: string
    /** Of what is on the chain for it by then. */
    eth_transaction_hash?: string | null
  }
  createdAt: Date
}

/**
 * A user's events in the order of the log, after the one that the user saw last. None is ever
 * skipped: an event appears only when no transaction is left that could still write before it. That
 * is as soon as all that were writing when it was written have ended.
 */
export async function listEvents(
  db: Db,
  wanted: { userId: number; after?: bigint | undefined; limit: number },
): Promise<Event[]> {
  const { userId, after, limit } = wanted
  const place = sql`(select log_key, id from events where user_id = ${userId} and id = ${after})`
  const { rows } = await sql<Event>`
    select id, type, subject, data, created_at as "createdAt" from events
    where user_id = ${userId} and log_key < log_horizon()
      ${after === undefined ? sql`` : sql`and (log_key, id) > ${place}`}
    order by log_key, id limit ${limit}`.execute(db)
  return rows
}

/** Whether the user has an event of that id, and so may go on after it. */
export async function hasEvent(db: Db, wanted: { userId: number; id: bigint }): Promise<boolean> {
  const { rows } = await sql`
    select 1 from events where id = ${wanted.id} and user_id = ${wanted.userId}`.execute(db)
  return rows.length > 0
}
