import type { Db } from '../store/database.ts'
import {
  completeAnswer,
  findAnswer,
  STARTED,
  storeAnswer,
  tryLockKey,
  type RequestKey,
  type StoredAnswer,
} from '../store/idempotency.ts'
import { RequestError } from '../wire/errors.ts'
import type { Idempotently } from './endpoint.ts'

/** Makes every POST one SQL transaction, and one with a key happen once. */
export function createIdempotently(deps: { db: Db }): Idempotently {
  const { db } = deps
  // Those in flight in this process are refused without a connection; the lock in the database is
  // what holds between processes.
  const inFlight = new Set<string>()
  return async ({ key, caller, endpoint, fingerprint, prepare, run, complete }) => {
    if (key === undefined) {
      const prepared = await prepare?.()
      const answer = await db.transaction().execute((transaction) => run(transaction, prepared))
      return { ...((await complete?.(answer.body)) ?? answer), replayed: false }
    }
    const requestKey = { userId: caller.userId, operation: endpoint.operationId, key }
    const name = JSON.stringify(requestKey)
    if (inFlight.has(name)) throw stillInFlight()
    inFlight.add(name)
    try {
      const stored = await findAnswer(db, requestKey)
      const first = async (): Promise<Answer> => {
        const prepared = await prepare?.()
        const isWhole = complete === undefined
        const once = { requestKey, fingerprint, isWhole, run: (db: Db) => run(db, prepared) }
        return db.transaction().execute((transaction) => runOnce(transaction, once))
      }
      const begun = stored ? replay(stored, fingerprint) : await first()
      if (complete === undefined || begun.status !== STARTED) return begun
      const answer = await complete(begun.body)
      await completeAnswer(db, requestKey, answer)
      return { ...answer, replayed: false }
    } finally {
      inFlight.delete(name)
    }
  }
}

type Answer = Awaited<ReturnType<Idempotently>>

type Once = {
  requestKey: RequestKey
  fingerprint: string
  /** False where the answer is made after the commit. */
  isWhole: boolean
  run: (db: Db) => Promise<{ status: number; body: string }>
}

async function runOnce(db: Db, once: Once): Promise<Answer> {
  const { requestKey, fingerprint, isWhole, run } = once
  if (!(await tryLockKey(db, requestKey))) throw stillInFlight()
  // Read again: whoever held the lock may have stored its answer since the first look.
  const stored = await findAnswer(db, requestKey)
  if (stored) return replay(stored, fingerprint)
  const ran = await run(db)
  const answer = isWhole ? ran : { ...ran, status: STARTED }
  // A failure of ours is driven on by the next try, and is not the answer for thirty days.
  if (answer.status < 400) await storeAnswer(db, requestKey, { fingerprint, ...answer })
  return { ...answer, replayed: false }
}

function replay(stored: StoredAnswer, fingerprint: string): Answer {
  if (stored.fingerprint !== fingerprint) throw keyReused()
  return { status: stored.status, body: stored.body, replayed: true }
}

function keyReused(): RequestError {
  return new RequestError(
    'idempotency_key_reused',
    'This idempotency key stands for another request. Send a new key, or the same body as before.',
  )
}

function stillInFlight(): RequestError {
  return new RequestError(
    'idempotency_in_flight',
    'The first request with this idempotency key is still at work. Try again in a moment.',
    { headers: { 'retry-after': '1' }, retryable: true },
  )
}
