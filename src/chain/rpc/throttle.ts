import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { RpcError } from './rpc-error.ts'

/**
 * Holds calls to one provider back: so many at once, and no faster than the provider has shown to
 * bear. It starts without a rate, halves what it did when the provider says that it was too much,
 * and feels its way up again.
 */
export type Throttle = {
  /** Runs the work when it is its turn. */
  run: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>
  /** The provider said that it was too much. */
  onLimited: (retryAfterMs: number | undefined) => void
  onAnswered: () => void
  /** Whether a call would have to wait for the provider's pause to end. */
  isPaused: () => boolean
  /** Calls a second, undefined while no limit is known. */
  rate: () => number | undefined
}

export type ThrottleDeps = {
  name: string
  clock: Clock
  maxConcurrent?: number
  maxQueued?: number
}

export function createThrottle(deps: ThrottleDeps): Throttle {
  const { clock } = deps
  const slots = createSlots(deps)
  const pace = createPace()
  const nowMs = (): number => clock.now().getTime()
  return {
    async run(work, signal) {
      await slots.take(signal)
      try {
        const waitMs = pace.reserve(nowMs())
        if (waitMs > 0) await clock.sleep(waitMs, signal)
        if (signal.aborted) throw aborted(deps.name)
        return await work()
      } finally {
        slots.release()
      }
    },
    onLimited: (retryAfterMs) => pace.slowDown(nowMs(), retryAfterMs),
    onAnswered: () => pace.speedUp(nowMs()),
    isPaused: () => pace.isPaused(nowMs()),
    rate: pace.rate,
  }
}

type Slots = { take: (signal: AbortSignal) => Promise<void>; release: () => void }

/** A bounded number of places, given in the order of asking; the queue is bounded too. */
function createSlots({ name, maxConcurrent, maxQueued }: ThrottleDeps): Slots {
  let free = maxConcurrent ?? limits.rpcConcurrentCalls
  const queueLimit = maxQueued ?? limits.rpcQueuedCalls
  const waiting = new Set<() => void>()
  return {
    async take(signal) {
      if (signal.aborted) throw aborted(name)
      if (free > 0) {
        free -= 1
        return
      }
      if (waiting.size >= queueLimit) throw queueFull(name, queueLimit)
      const turn = Promise.withResolvers<void>()
      const leave = (): void => {
        if (waiting.delete(turn.resolve)) turn.reject(aborted(name))
      }
      waiting.add(turn.resolve)
      signal.addEventListener('abort', leave, { once: true })
      try {
        await turn.promise
      } finally {
        signal.removeEventListener('abort', leave)
      }
    },
    release() {
      const [next] = waiting
      if (next === undefined) {
        free += 1
        return
      }
      // The place goes from hand to hand, so that nobody can push in between.
      waiting.delete(next)
      next()
    },
  }
}

type Pace = {
  /** Reserves the next moment to call at, and returns how far away it is. */
  reserve: (nowMs: number) => number
  slowDown: (nowMs: number, retryAfterMs: number | undefined) => void
  speedUp: (nowMs: number) => void
  isPaused: (nowMs: number) => boolean
  rate: () => number | undefined
}

function createPace(): Pace {
  let rate: number | undefined
  let pausedUntilMs = 0
  let nextMs = 0
  let slowedAtMs = -Infinity
  const seen = createMeter()
  return {
    reserve(nowMs) {
      seen.count(nowMs)
      const atMs = Math.max(nowMs, pausedUntilMs, nextMs)
      nextMs = rate === undefined ? 0 : atMs + 1000 / rate
      return atMs - nowMs
    },
    slowDown(nowMs, retryAfterMs) {
      const pauseMs = Math.min(retryAfterMs ?? DEFAULT_PAUSE_MS, MAX_PAUSE_MS)
      pausedUntilMs = Math.max(pausedUntilMs, nowMs + pauseMs)
      // Calls that were under way together are limited together, which is one lesson and not many.
      if (nowMs - slowedAtMs < LESSON_MS) return
      slowedAtMs = nowMs
      rate = Math.max(MIN_RATE, (rate ?? seen.perSecond(nowMs)) / 2)
    },
    speedUp(nowMs) {
      if (rate === undefined || nowMs < pausedUntilMs) return
      rate += SPEED_UP
      if (rate > MAX_RATE) rate = undefined
    },
    isPaused: (nowMs) => nowMs < pausedUntilMs,
    rate: () => rate,
  }
}

const DEFAULT_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000
const LESSON_MS = 1000
const MIN_RATE = 1
/** Each answer adds this much, so that a rate of R doubles in about 20 seconds. */
const SPEED_UP = 0.05
/** From here on no limit is worth keeping. */
const MAX_RATE = 1000

/** Calls in the last second or two, in two buckets. */
function createMeter(): { count: (nowMs: number) => void; perSecond: (nowMs: number) => number } {
  let startMs = 0
  let before = 0
  let current = 0
  const roll = (nowMs: number): void => {
    const elapsedMs = nowMs - startMs
    if (elapsedMs < 1000) return
    before = elapsedMs < 2000 ? current : 0
    current = 0
    startMs = nowMs
  }
  return {
    count(nowMs) {
      roll(nowMs)
      current += 1
    },
    perSecond(nowMs) {
      roll(nowMs)
      return Math.max(before, current)
    },
  }
}

function aborted(provider: string): RpcError {
  return new RpcError(`The call to ${provider} was ended while it waited. Nothing was sent.`, {
    code: 'rpc_aborted',
    details: { provider },
  })
}

function queueFull(provider: string, maxQueued: number): RpcError {
  return new RpcError(
    `${maxQueued} calls wait for ${provider} already. Slow down, or add a provider to ETH_RPC_URL.`,
    { code: 'rpc_queue_full', details: { provider, maxQueued } },
  )
}
