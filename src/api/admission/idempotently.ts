import { codeOf } from '../../base/errors.ts'
import {
  completeAnswer,
  findAnswer,
  STARTED,
  type RequestKey,
} from '../../store/access/idempotency.ts'
import type { Db } from '../../store/database/database.ts'
import { stringifyJson } from '../../wire/json.ts'
import {
  commitAlone,
  createCommitTogether,
  replay,
  stillInFlight,
  type CommittedAnswer,
  type PreparedPost,
} from './commit.ts'
import type { Endpoint, Idempotently, Post } from './endpoint.ts'
import { answerTo } from './refusals.ts'
import type { Screening } from './screen.ts'
import { createTogether } from './together.ts'

/** Makes every POST one SQL transaction, and one with a key happen once. */
export function createIdempotently(deps: {
  db: Db
  /** Asked about what a POST moves; absent, everything is allowed. */
  screen?: Screening | undefined
  /** Called for each POST that was committed and is not a replay. */
  onCommitted?: (endpoint: Endpoint) => void
}): Idempotently {
  const { db, screen, onCommitted } = deps
  const inFlight = createInFlight()
  const commit = createCommit(db)
  return async (post) => {
    const { endpoint, request } = post
    const requestKey = keyOf(post)
    const free = requestKey && inFlight.begin(requestKey, post.signal)
    try {
      const stored = requestKey && (await findAnswer(db, requestKey))
      const { value, ...answer }: CommittedAnswer = stored
        ? replay(stored, post.fingerprint)
        : await commit({ ...post, requestKey, prepared: await prepare(db, post, screen) })
      if (!answer.replayed) {
        endpoint.onCommitted?.(value)
        onCommitted?.(endpoint)
      }
      if (answer.status !== STARTED || endpoint.complete === undefined) return answer
      const completed = await endpoint.complete(JSON.parse(answer.body), { ...request, db })
      const { status } = endpoint
      const body = stringifyJson(completed)
      if (requestKey) await completeAnswer(db, requestKey, { status, body })
      return { status, body, replayed: false }
    } finally {
      free?.()
    }
  }
}

/** Both groups have a `createPayment` and a `createTransfer`, and keys of their own. */
function keyOf({ key, request, endpoint }: Post): RequestKey | undefined {
  const { group, operationId } = endpoint
  const { userId } = request.caller
  return key === undefined ? undefined : { userId, operation: `${group}.${operationId}`, key }
}

/**
 * Those in flight in this process are refused without a connection; the lock in the database is
 * what holds between processes.
 */
function createInFlight() {
  const signals = new Map<string, AbortSignal>()
  return {
    /** A mark ends with its request, even where the database keeps the work from ending. */
    begin(key: RequestKey, signal: AbortSignal): () => void {
      const name = JSON.stringify(key)
      if (signals.has(name)) throw stillInFlight()
      const free = (): void => {
        signal.removeEventListener('abort', free)
        if (signals.get(name) === signal) signals.delete(name)
      }
      signals.set(name, signal)
      signal.addEventListener('abort', free)
      return free
    },
  }
}

/** Asks others, while no SQL transaction is open. */
async function prepare(
  db: Db,
  { endpoint, request, signal }: Post,
  screen: Screening | undefined,
): Promise<unknown> {
  try {
    const prepared = await endpoint.prepare?.({ ...request, db })
    signal.throwIfAborted()
    if (screen !== undefined && endpoint.moves !== undefined) {
      await screen(endpoint.moves({ ...request, prepared }), signal)
    }
    signal.throwIfAborted()
    return prepared
  } catch (error) {
    throw answerTo(error, endpoint.refusals)
  }
}

/** Another list held the lane, and has done its work by now. */
function isLaneBusy(error: unknown): boolean {
  return error instanceof Error && codeOf(error.cause) === 'lane_busy'
}

function createCommit(db: Db): (post: PreparedPost) => Promise<CommittedAnswer> {
  const groups = new WeakMap<Endpoint, ReturnType<typeof createGroup>>()
  const createGroup = () => createTogether(createCommitTogether(db), { passes: isLaneBusy })
  return async (post) => {
    const { endpoint, signal } = post
    if (!endpoint.isShared) return commitAlone(db, post)
    const group = groups.get(endpoint) ?? createGroup()
    groups.set(endpoint, group)
    return group(post, signal)
  }
}
