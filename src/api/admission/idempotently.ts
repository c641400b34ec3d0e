import type { Db } from '../../store/database/database.ts'
import {
  completeAnswer,
  findAnswer,
  findAnswers,
  STARTED,
  storeAnswers,
  tryLockKeys,
  type RequestKey,
  type StoredAnswer,
} from '../../store/access/idempotency.ts'
import { limitLockWait, transact } from '../../store/database/transact.ts'
import { RequestError } from '../../wire/errors.ts'
import type { Endpoint, Idempotently, RunTogether } from './endpoint.ts'
import { createTogether, type Outcome } from './together.ts'

/** Makes every POST one SQL transaction, and one with a key happen once. */
export function createIdempotently(deps: { db: Db }): Idempotently {
  const { db } = deps
  // Those in flight in this process are refused without a connection; the lock in the database is
  // what holds between processes.
  const inFlight = new Map<string, AbortSignal>()
  const runTogether = createTogetherOf(db)
  return async ({
    key,
    caller,
    endpoint,
    fingerprint,
    prepare,
    run,
    together,
    complete,
    signal,
  }) => {
    const requestKey =
      key === undefined
        ? undefined
        : { userId: caller.userId, operation: operationOf(endpoint), key }
    const first = async (): Promise<Answer> => {
      const prepared = await prepare?.()
      const once = { requestKey, fingerprint, isWhole: complete === undefined, signal }
      if (together !== undefined) {
        const { request } = together
        return runTogether(endpoint, together.run, { ...once, asked: { request, prepared } })
      }
      const work = async (db: Db) => [{ ok: true as const, value: await run(db, prepared) }]
      const [outcome] = await transact(db, (open) => runAll(open, [once], work), signal)
      if (outcome?.ok !== true) throw outcome?.error
      return outcome.value
    }
    if (requestKey === undefined) {
      const answer = await first()
      return { ...((await complete?.(answer.body)) ?? answer), replayed: false }
    }
    const name = JSON.stringify(requestKey)
    if (inFlight.has(name)) throw stillInFlight()
    // It ends with its request, even where the database keeps the work from ending.
    const free = (): void => {
      if (inFlight.get(name) === signal) inFlight.delete(name)
    }
    inFlight.set(name, signal)
    signal.addEventListener('abort', free)
    try {
      const stored = await findAnswer(db, requestKey)
      const begun = stored ? replay(stored, fingerprint) : await first()
      if (complete === undefined || begun.status !== STARTED) return begun
      const answer = await complete(begun.body)
      await completeAnswer(db, requestKey, answer)
      return { ...answer, replayed: false }
    } finally {
      signal.removeEventListener('abort', free)
      free()
    }
  }
}

/** Both groups have a `createPayment` and a `createTransfer`, and keys of their own. */
function operationOf({ group, operationId }: Endpoint): string {
  return `${group}.${operationId}`
}

type Answer = Awaited<ReturnType<Idempotently>>

type Once = {
  requestKey: RequestKey | undefined
  fingerprint: string
  /** False where the answer is made after the commit. */
  isWhole: boolean
  signal: AbortSignal
}

type Asked = Once & { asked: { request: unknown; prepared: unknown } }

/** Requests of one operation that come at one time share a SQL transaction. */
function createTogetherOf(db: Db) {
  const groups = new WeakMap<Endpoint, (asked: Asked) => Promise<Answer>>()
  return async (endpoint: Endpoint, run: RunTogether, asked: Asked): Promise<Answer> => {
    const group =
      groups.get(endpoint) ??
      createTogether<Asked, Answer>((take, { signal, isRepeat }) => {
        let taken: readonly Asked[] | undefined
        const work = async (open: Db): Promise<Outcome<Answer>[]> => {
          await limitLockWait(open, isRepeat ? REPEAT_LOCK_MS : TOGETHER_LOCK_MS)
          taken ??= take()
          const outcomes = await runAll(open, taken, (db, some) =>
            run(
              db,
              some.map((one) => one.asked),
            ),
          )
          signal.throwIfAborted()
          return outcomes
        }
        return transact(db, work, signal)
      })
    groups.set(endpoint, group)
    return group(asked, asked.signal)
  }
}

/** What one of them waits for keeps all of them waiting, most of whom need it not. */
const TOGETHER_LOCK_MS = 2000
/** And it must not keep each of them waiting again. */
const REPEAT_LOCK_MS = 100

type Ran = { status: number; body: string }

/** Does those that were not done before, and stores their answers under their keys. */
async function runAll<T extends Once>(
  db: Db,
  all: readonly T[],
  work: (db: Db, some: readonly T[]) => Promise<ReadonlyArray<Outcome<Ran>>>,
): Promise<Outcome<Answer>[]> {
  const known = await knownOf(db, all)
  const fresh = all.filter((once) => !known.has(once))
  const ran = fresh.length === 0 ? [] : await work(db, fresh)
  const answers: Array<RequestKey & StoredAnswer> = []
  const outcomes = new Map<T, Outcome<Answer>>(known)
  for (const [place, once] of fresh.entries()) {
    const outcome = ran[place]
    if (outcome?.ok !== true) {
      outcomes.set(once, outcome ?? { ok: false, error: new TypeError('each has an outcome') })
      continue
    }
    const { requestKey, fingerprint, isWhole } = once
    const isStarted = !isWhole && requestKey !== undefined
    const answer = isStarted ? { ...outcome.value, status: STARTED } : outcome.value
    outcomes.set(once, { ok: true, value: { ...answer, replayed: false } })
    // A failure of ours is driven on by the next try, and is not the answer for thirty days.
    if (requestKey !== undefined && answer.status < 400) {
      answers.push({ ...requestKey, fingerprint, ...answer })
    }
  }
  if (answers.length > 0) await storeAnswers(db, answers)
  // The caller of one that is late may ask again, so nothing of it may happen any more.
  for (const { signal } of all) signal.throwIfAborted()
  return all.map((once) => outcomes.get(once)!)
}

/** Those that are answered already, or are at work elsewhere; locks the keys of the others. */
async function knownOf<T extends Once>(
  db: Db,
  all: readonly T[],
): Promise<Map<T, Outcome<Answer>>> {
  const known = new Map<T, Outcome<Answer>>()
  const keyed = all.flatMap((once) =>
    once.requestKey === undefined ? [] : { once, requestKey: once.requestKey },
  )
  if (keyed.length === 0) return known
  const keys = keyed.map(({ requestKey }) => requestKey)
  const locked = await tryLockKeys(db, keys)
  // Read after the lock: whoever held it may have stored its answer since the first look.
  const stored = await findAnswers(db, keys)
  for (const [place, { once }] of keyed.entries()) {
    const answer = stored[place]
    if (locked[place] !== true) known.set(once, { ok: false, error: stillInFlight() })
    else if (answer) known.set(once, replayed(answer, once.fingerprint))
  }
  return known
}

function replayed(stored: StoredAnswer, fingerprint: string): Outcome<Answer> {
  try {
    return { ok: true, value: replay(stored, fingerprint) }
  } catch (error) {
    return { ok: false, error }
  }
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
