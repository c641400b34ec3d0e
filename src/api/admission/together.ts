import { ImpossibleError, type Result } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { troubleOf } from '../../store/database/trouble.ts'
import { RequestError } from '../../wire/errors.ts'
import { tookTooLong } from '../server/deadline.ts'

/** Does a list of items. After its signal it must leave nothing behind. */
export type ListWork<Item, Value> = (
  /** Hands over the items; called once, as late as can be. */
  take: () => readonly Item[],
  /** A repeat is of one item, after a list with others failed. */
  how: { signal: AbortSignal; isRepeat: boolean },
) => Promise<ReadonlyArray<Result<Value>>>

/**
 * Does as one list what several callers ask for at one time, and gives each its own result. Nobody
 * waits for others to come: those that arrive while one list is at work are the next one. A list
 * that fails as a whole is done again one by one, so that what one item breaks is its own; all of
 * that has one limit together, and an item that is not done by then is refused. A caller whose
 * signal has aborted is left out. What is refused for a reason that passes by itself goes with one
 * of the next lists, a few times.
 */
export function createTogether<Item, Value>(
  work: ListWork<Item, Value>,
  options: TogetherOptions = {},
): (item: Item, signal?: AbortSignal) => Promise<Value> {
  const { limitMs = limits.togetherMs, patienceMs = PATIENCE_MS, passes = () => false } = options
  const waiting: Waiting<Item, Value>[] = []
  let running = 0
  /** Of them, those that have been at work for long, so that they may wait for a lock. */
  let late = 0
  // Who comes before a list has taken its items still goes with it.
  let isTaking = false
  const isNextDue = (): boolean => {
    if (isTaking || waiting.length === 0) return false
    isTaking = true
    return true
  }
  const take = (): Waiting<Item, Value>[] => {
    isTaking = false
    return waiting.splice(0, MAX_AT_ONCE).filter(isInTime)
  }
  /** Whether all others wait. */
  const isMyTurn = (own: 0 | 1): boolean => running - own <= late
  const keepGoing = async (): Promise<void> => {
    do {
      const patience = startPatience()
      waiting.push(...(await settle(work, take, { limitMs, passes })).filter(isInTime))
      patience.end()
    } while (isMyTurn(1) && isNextDue())
    running -= 1
  }
  const startPatience = (): { end: () => void } => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      late += 1
      beginIfDue()
    }, patienceMs)
    return {
      end: () => {
        clearTimeout(timer)
        if (isLate) late -= 1
      },
    }
  }
  const beginIfDue = (): void => {
    if (running >= LISTS_AT_ONCE || !isMyTurn(0) || !isNextDue()) return
    running += 1
    // Those whose questions to the chain were answered together come together.
    setImmediate(() => void keepGoing())
  }
  return (item, signal) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MAX_WAITING) {
        reject(tooMany())
        return
      }
      waiting.push({ item, signal, resolve, reject, lists: 0 })
      beginIfDue()
    })
}

type TogetherOptions = {
  limitMs?: number
  patienceMs?: number
  /** Whether what was refused may well be done a moment later. */
  passes?: (error: unknown) => boolean
}

/**
 * While one list waits for a lock, another works. Two that both work would keep each other waiting
 * for the same locks, and each would have half as many to share what a list costs.
 */
const LISTS_AT_ONCE = 2
/** A list that takes longer waits for somebody. */
const PATIENCE_MS = 100
const MAX_AT_ONCE = 64
const MAX_WAITING = 10_000
/** More would keep its caller for longer than to say no. */
const MAX_LISTS = 4

type Waiting<Item, Value> = {
  item: Item
  signal: AbortSignal | undefined
  resolve: (value: Value) => void
  reject: (error: unknown) => void
  /** How many it went with so far. */
  lists: number
}

/** Takes them as late as it can, for then there are more of them; gives back who comes again. */
async function settle<Item, Value>(
  work: ListWork<Item, Value>,
  take: () => Waiting<Item, Value>[],
  { limitMs, passes }: Required<Omit<TogetherOptions, 'patienceMs'>>,
): Promise<Waiting<Item, Value>[]> {
  const deadline = startDeadline(limitMs)
  const { signal } = deadline
  let taken: Waiting<Item, Value>[] = []
  const takeInTime = (): Item[] => {
    signal.throwIfAborted()
    taken = take()
    return taken.map(({ item }) => item)
  }
  try {
    const results = await deadline.race(work(takeInTime, { signal, isRepeat: false }))
    const isAgain = (one: Waiting<Item, Value>, place: number): boolean => {
      const result = results[place]
      return result?.ok === false && passes(result.error) && ++one.lists < MAX_LISTS
    }
    const again = taken.filter(isAgain)
    for (const [place, one] of taken.entries()) if (!again.includes(one)) tell(one, results[place])
    return again
  } catch (error) {
    // Before they were taken it failed for nobody else than those that wait the longest.
    if (taken.length === 0) taken = take()
    const isOfAll = signal.aborted || taken.length === 1 || troubleOf(error) === 'unavailable'
    if (isOfAll) for (const { reject } of taken) reject(error)
    else await repeat(work, taken, deadline)
    return []
  } finally {
    deadline.end()
  }
}

async function repeat<Item, Value>(
  work: ListWork<Item, Value>,
  taken: readonly Waiting<Item, Value>[],
  { signal, race }: Deadline,
): Promise<void> {
  for (const one of taken.filter(isInTime)) {
    try {
      signal.throwIfAborted()
      const [result] = await race(work(() => [one.item], { signal, isRepeat: true }))
      tell(one, result)
    } catch (error) {
      one.reject(error)
    }
  }
}

type Deadline = {
  signal: AbortSignal
  /** Rejects at the deadline, whatever the work does then. */
  race: <T>(work: Promise<T>) => Promise<T>
  end: () => void
}

function startDeadline(limitMs: number): Deadline {
  const controller = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  const timer = setTimeout(() => {
    controller.abort(tookTooLong())
    reject(controller.signal.reason)
  }, limitMs)
  return {
    signal: controller.signal,
    race: (work) => Promise.race([work, promise]),
    end: () => clearTimeout(timer),
  }
}

function isInTime({
  signal,
  reject,
}: Pick<Waiting<unknown, unknown>, 'signal' | 'reject'>): boolean {
  if (signal?.aborted === true) reject(signal.reason)
  return signal?.aborted !== true
}

function tell<Item, Value>(
  { resolve, reject }: Waiting<Item, Value>,
  result: Result<Value> | undefined,
): void {
  if (result?.ok === true) resolve(result.value)
  else reject(result?.error ?? new ImpossibleError('each has a result'))
}

function tooMany(): RequestError {
  return new RequestError(
    'unavailable',
    'Too many requests are waiting already. Try again in a moment.',
    {
      headers: { 'retry-after': '1' },
      retryable: true,
    },
  )
}
