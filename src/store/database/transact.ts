import { sql } from 'kysely'

import { codeOf } from '../../base/errors.ts'
import type { Db } from './database.ts'
import { NeededFirstError } from './trouble.ts'

/**
 * Does the work in one SQL transaction, in which it waits for nothing but the database. What it
 * needs from elsewhere it throws as `NeededFirstError`. Then the transaction ends without a trace,
 * that is fetched while nothing is locked, and the work begins again. It does so as well where the
 * server has ended it as one of two that waited for each other.
 */
export async function transact<T>(
  db: Db,
  work: (db: Db) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      const isNeeding = error instanceof NeededFirstError
      if (round === MAX_ROUNDS || !(isNeeding || codeOf(error) === DEADLOCK)) throw error
      if (isNeeding) await error.fetch()
    }
    signal?.throwIfAborted()
  }
}

/** In each round in which others took what was fetched for, one of them has got on. */
const MAX_ROUNDS = 32
const DEADLOCK = '40P01'

/** All of it, where several find at one time that they need something first. */
export async function needTogether<T>(works: ReadonlyArray<Promise<T>>): Promise<T[]> {
  const settled = await Promise.allSettled(works)
  const needs = settled.flatMap((one) =>
    one.status === 'rejected' && one.reason instanceof NeededFirstError ? [one.reason] : [],
  )
  if (needs.length === 0) return Promise.all(works)
  throw new NeededFirstError(async () => {
    await Promise.all(needs.map((need) => need.fetch()))
  })
}

/** How long the open transaction waits for each lock that another one holds. */
export async function limitLockWait(db: Db, ms: number): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${ms}ms`}, true)`.execute(db)
}
