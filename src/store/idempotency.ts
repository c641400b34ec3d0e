import { sql } from 'kysely'

import type { Db } from './database.ts'

/** Whose key it is, and for what: the same key of another user or operation is another key. */
export type RequestKey = { userId: number; operation: string; key: string }

export type StoredAnswer = { fingerprint: string; status: number; body: string }

export async function findAnswer(db: Db, key: RequestKey): Promise<StoredAnswer | undefined> {
  const { rows } = await sql<StoredAnswer>`
    select fingerprint, status, body from idempotent_requests
    where user_id = ${key.userId} and operation = ${key.operation} and key = ${key.key}
    `.execute(db)
  return rows[0]
}

/**
 * Holds the key to the end of the transaction. False, at once, where another transaction holds it.
 * Two keys share a lock once in 2^64 times; then one of them is told to come again.
 */
export async function tryLockKey(db: Db, key: RequestKey): Promise<boolean> {
  const name = JSON.stringify([key.userId, key.operation, key.key])
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`.execute(db)
  return rows[0]?.locked ?? false
}

/** In the transaction that did what the answer tells of, so that there are both or neither. */
export async function storeAnswer(db: Db, key: RequestKey, answer: StoredAnswer): Promise<void> {
  await sql`
    insert into idempotent_requests (user_id, operation, key, fingerprint, status, body)
    values (${key.userId}, ${key.operation}, ${key.key}, ${answer.fingerprint}, ${answer.status},
      ${answer.body})`.execute(db)
}

/**
 * Stands in place of the status while there is no answer yet, but only what the request started.
 */
export const STARTED = 202

/** The answer to what was started, unless another process was quicker. */
export async function completeAnswer(
  db: Db,
  key: RequestKey,
  answer: Pick<StoredAnswer, 'status' | 'body'>,
): Promise<void> {
  await sql`
    update idempotent_requests set status = ${answer.status}, body = ${answer.body}
    where user_id = ${key.userId} and operation = ${key.operation} and key = ${key.key}
      and status = ${STARTED}`.execute(db)
}
