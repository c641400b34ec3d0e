import { sql } from 'kysely'

import type { Db } from '../database/database.ts'
import { given } from '../database/rows.ts'

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

/** Of several keys, in their order. */
export async function findAnswers(
  db: Db,
  keys: readonly RequestKey[],
): Promise<Array<StoredAnswer | undefined>> {
  const wanted = keys.map(({ userId, ...key }) => ({ user_id: userId, ...key }))
  const { rows } = await sql<StoredAnswer & RequestKey>`
    select user_id as "userId", operation, key, fingerprint, status, body
    from idempotent_requests join ${given(wanted)`
      user_id integer, operation text, key text
    `} as wanted using (user_id, operation, key)`.execute(db)
  const found = new Map(rows.map((row) => [nameOf(row), row]))
  return keys.map((key) => {
    const row = found.get(nameOf(key))
    return row && { fingerprint: row.fingerprint, status: row.status, body: row.body }
  })
}

/**
 * Locks the keys until the end of the transaction. Returns false, at once, for a key that another
 * transaction has locked. Two keys share a lock once in 2^64 times; one request then has to retry.
 */
export async function tryLockKeys(db: Db, keys: readonly RequestKey[]): Promise<boolean[]> {
  const { rows } = await sql<{ name: string; locked: boolean }>`
    select name, pg_try_advisory_xact_lock(hashtextextended(name, 0)) as locked
    from unnest(${keys.map(nameOf)}::text[]) as name`.execute(db)
  const locked = new Map(rows.map((row) => [row.name, row.locked]))
  return keys.map((key) => locked.get(nameOf(key)) ?? false)
}

function nameOf({ userId, operation, key }: RequestKey): string {
  return JSON.stringify([userId, operation, key])
}

/** Call it in the transaction that does the work, so that both are stored or neither. */
export async function storeAnswers(
  db: Db,
  answers: ReadonlyArray<RequestKey & StoredAnswer>,
): Promise<void> {
  const rows = answers.map(({ userId, body, ...rest }) => {
    return { user_id: userId, ...rest, body: body.toWellFormed() }
  })
  await sql`
    insert into idempotent_requests (user_id, operation, key, fingerprint, status, body)
    select user_id, operation, key, fingerprint, status, body
    from ${given(rows)`
      user_id integer, operation text, key text, fingerprint text, status integer, body text
    `} as row`.execute(db)
}

/**
 * The status that is stored until there is an answer. The body is then what the request started.
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
