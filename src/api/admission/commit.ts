import { ImpossibleError, type Result } from '../../base/errors.ts'
import {
  findAnswers,
  STARTED,
  storeAnswers,
  tryLockKeys,
  type RequestKey,
  type StoredAnswer,
} from '../../store/access/idempotency.ts'
import type { Db } from '../../store/database/database.ts'
import { limitLockWait } from '../../store/database/transact.ts'
import { transact } from '../../store/database/transact.ts'
import { storeTraces, type SubjectTrace } from '../../store/transactions/traces.ts'
import { RequestError } from '../../wire/errors.ts'
import { stringifyJson } from '../../wire/json.ts'
import type { Post, PostAnswer } from './endpoint.ts'
import { answerTo } from './refusals.ts'
import type { ListWork } from './together.ts'

/** A POST that is ready for its transaction. */
export type PreparedPost = Post & { requestKey: RequestKey | undefined; prepared: unknown }

/** With what the handler answered, before it became text; a stored answer has only the text. */
export type CommittedAnswer = PostAnswer & { value?: unknown }

/** Does one POST in a SQL transaction of its own. */
export async function commitAlone(db: Db, post: PreparedPost): Promise<CommittedAnswer> {
  const [result] = await transact(db, (open) => doAll(open, [post]), post.signal)
  if (result?.ok !== true) throw result?.error
  return result.value
}

/** Does those of one endpoint that come at one time in one SQL transaction. */
export function createCommitTogether(db: Db): ListWork<PreparedPost, CommittedAnswer> {
  return (take, { signal, isRepeat }) => {
    let taken: readonly PreparedPost[] | undefined
    const work = async (open: Db) => {
      await limitLockWait(open, isRepeat ? REPEAT_LOCK_MS : TOGETHER_LOCK_MS)
      taken ??= take()
      const results = await doAll(open, taken)
      signal.throwIfAborted()
      return results
    }
    return transact(db, work, signal)
  }
}

/** What one of them waits for keeps all of them waiting, most of whom need it not. */
const TOGETHER_LOCK_MS = 2000
/** And it must not keep each of them waiting again. */
const REPEAT_LOCK_MS = 100

type Committed = Result<CommittedAnswer>

/** Does those that were not done before, and stores their answers under their keys. */
async function doAll(db: Db, posts: readonly PreparedPost[]): Promise<Committed[]> {
  const results = await lockKeys(db, posts)
  const fresh = posts.filter((post) => !results.has(post))
  const handled = await handle(db, fresh)
  for (const [place, post] of fresh.entries()) results.set(post, resultOf(post, handled[place]))
  const answers = fresh.flatMap((post) => {
    const { requestKey, fingerprint } = post
    const result = results.get(post)
    if (requestKey === undefined || result?.ok !== true) return []
    const { status, body } = result.value
    return [{ ...requestKey, fingerprint, status, body }]
  })
  if (answers.length > 0) await storeAnswers(db, answers)
  const traces = fresh.flatMap((post) => tracesOf(post, results.get(post)))
  if (traces.length > 0) await storeTraces(db, traces)
  // The caller of one that is late may ask again, so nothing of it may happen any more.
  for (const { signal } of posts) signal.throwIfAborted()
  return posts.map((post) => results.get(post)!)
}

/** What a later look finds the trace of the request by; nothing where traces are off. */
function tracesOf(
  { endpoint, span, prepared }: PreparedPost,
  result: Committed | undefined,
): SubjectTrace[] {
  if (span === undefined || result?.ok !== true) return []
  const subjects = endpoint.subjectsOf?.(result.value.value, prepared) ?? []
  span.set({ 'quittance.subject': subjects[0] })
  return subjects.map((subject) => ({ subject, traceparent: span.traceparent }))
}

/** Locks the keys. Resolves to the posts that are answered already, or are at work elsewhere. */
async function lockKeys(
  db: Db,
  posts: readonly PreparedPost[],
): Promise<Map<PreparedPost, Committed>> {
  const known = new Map<PreparedPost, Committed>()
  const keyed = posts.flatMap((post) =>
    post.requestKey === undefined ? [] : [{ post, requestKey: post.requestKey }],
  )
  if (keyed.length === 0) return known
  const keys = keyed.map(({ requestKey }) => requestKey)
  const locked = await tryLockKeys(db, keys)
  // Read after the lock: the previous holder may have stored its answer since the first look.
  const stored = await findAnswers(db, keys)
  for (const [place, { post }] of keyed.entries()) {
    const answer = stored[place]
    if (locked[place] !== true) known.set(post, { ok: false, error: stillInFlight() })
    else if (answer) known.set(post, replayed(answer, post.fingerprint))
  }
  return known
}

function replayed(stored: StoredAnswer, fingerprint: string): Committed {
  try {
    return { ok: true, value: replay(stored, fingerprint) }
  } catch (error) {
    return { ok: false, error }
  }
}

async function handle(db: Db, posts: readonly PreparedPost[]) {
  const [first] = posts
  if (first === undefined) return []
  const { endpoint } = first
  const requests = posts.map(({ request, prepared }) => ({ ...request, prepared }))
  try {
    return await endpoint.handle(db, requests)
  } catch (error) {
    throw answerTo(error, endpoint.refusals)
  }
}

function resultOf({ endpoint }: Post, handled: Result<unknown> | undefined): Committed {
  if (handled === undefined) return { ok: false, error: new ImpossibleError('each has a result') }
  if (!handled.ok) return { ok: false, error: answerTo(handled.error, endpoint.refusals) }
  const { value } = handled
  const status = endpoint.complete ? STARTED : endpoint.status
  return { ok: true, value: { status, body: stringifyJson(value), replayed: false, value } }
}

/** What the key has been answered before; rejects where that was another request. */
export function replay(stored: StoredAnswer, fingerprint: string): PostAnswer {
  const { status, body } = stored
  if (stored.fingerprint === fingerprint) return { status, body, replayed: true }
  throw new RequestError(
    'idempotency_key_reused',
    'This idempotency key was used for another request. Send a new key, or the same body as before.',
  )
}

export function stillInFlight(): RequestError {
  return new RequestError(
    'idempotency_in_flight',
    'The first request with this idempotency key is still in progress. Try again in a moment.',
    { headers: { 'retry-after': '1' }, retryable: true },
  )
}
