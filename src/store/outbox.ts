import { sql } from 'kysely'

import type { Db } from './database.ts'

/** Work that a deliverer took for a while. `id` and `tries` together are its claim to it. */
export type Lease = {
  id: bigint
  /** This try included. */
  tries: number
  topic: string
  userId: number
  /** The public id of what it is about. */
  subject: string
  data: Readonly<Record<string, unknown>>
  createdAt: Date
}

export type OutboxMessage = Pick<Lease, 'topic' | 'userId' | 'subject' | 'data'>

/** Queues work in the transaction that caused it. */
export async function writeOutbox(db: Db, message: OutboxMessage): Promise<void> {
  await sql`
    insert into outbox (topic, user_id, subject, data)
    values (${message.topic}, ${message.userId}, ${message.subject},
      ${JSON.stringify(message.data)}::jsonb)`.execute(db)
}

/**
 * Takes what is ready, oldest first, past what others are taking. Until the lease ends nobody else
 * gets it; after that it comes again, so a deliverer that dies loses nothing.
 */
export async function leaseOutbox(
  db: Db,
  wanted: { topic: string; limit: number; leaseMs: number },
): Promise<Lease[]> {
  const { rows } = await sql<Lease>`
    with ready as (
      select id from outbox where topic = ${wanted.topic} and available_at <= now()
      order by available_at, id limit ${wanted.limit} for update skip locked
    ), leased as (
      update outbox o
      set tries = tries + 1, available_at = now() + ${wanted.leaseMs} * interval '1 millisecond'
      from ready where o.id = ready.id
      returning o.*
    )
    select id, tries, topic, user_id as "userId", subject, data, created_at as "createdAt"
    from leased order by id`.execute(db)
  return rows
}

/** Done. False where the lease had ended and somebody else has the work now. */
export async function finishOutbox(db: Db, lease: Pick<Lease, 'id' | 'tries'>): Promise<boolean> {
  const { rows } = await sql`
    delete from outbox where id = ${lease.id} and tries = ${lease.tries} returning id`.execute(db)
  return rows.length > 0
}

/** Not done; it comes again after the time. False where somebody else has the work now. */
export async function retryOutbox(
  db: Db,
  lease: Pick<Lease, 'id' | 'tries'> & { afterMs: number },
): Promise<boolean> {
  const { rows } = await sql`
    update outbox set available_at = now() + ${lease.afterMs} * interval '1 millisecond'
    where id = ${lease.id} and tries = ${lease.tries} returning id`.execute(db)
  return rows.length > 0
}
