import type { Bell } from './bells.ts'
import type { Clock } from './clock.ts'
import type { Logger } from './logger.ts'

/** Work that is looked for again and again: one pass after the other, until a signal ends it. */
export type Loop = {
  /**
   * Begins the next pass now, and rings the bell. A kick that is lost costs the rest of a wait, and
   * nothing else.
   */
  kick: () => void
  run: (signal: AbortSignal) => Promise<void>
}

export type LoopOptions = {
  /** As the log calls it. */
  name: string
  clock: Clock
  logger: Logger
  intervalMs: number
  /** Kicks it from elsewhere, and is rung by a kick here. */
  bell?: Bell | undefined
  /** Whether what kicks it is heard now; without it, as its bell says. */
  isHeard?: (() => boolean) | undefined
  /** How long it rests after a pass that took so long, kicked or not: a part of its interval. */
  restMs?: (tookMs: number) => number
  /** Called at the end of each pass; a pass of many rounds may call it for each of them. */
  onProgress?: (() => void) | undefined
  /**
   * True: there is more to do, and the next pass begins at once. A number: nothing is due for so
   * many milliseconds. The loop rests until then or until it is kicked, but for two seconds at
   * most, and for thirty where a bell is heard that kicks it.
   */
  pass: (signal: AbortSignal, how: { isKicked: boolean }) => Promise<unknown>
}

/** A pass that fails is logged, and after each failure in a row the loop rests for longer. */
export function createLoop(options: LoopOptions): Loop {
  const { name, clock, logger, intervalMs, bell, restMs, onProgress, pass } = options
  const { isHeard = () => bell?.isHeard() ?? false } = options
  // The first pass looks at everything, as a kicked one does.
  let isKicked = true
  let wake: (() => void) | undefined
  let failures = 0
  let waitMs = intervalMs

  const atRest = (dueInMs: number): number =>
    Math.max(intervalMs, Math.min(dueInMs, isHeard() ? MAX_BELLED_IDLE_MS : MAX_IDLE_MS))

  /** How long to rest before the next pass, kicked or not; undefined where there is more to do. */
  const passOnce = async (signal: AbortSignal): Promise<number | undefined> => {
    const how = { isKicked }
    isKicked = false
    const startedAt = performance.now()
    try {
      const next = await pass(signal, how)
      failures = 0
      const rest = restMs?.(performance.now() - startedAt) ?? 0
      waitMs = typeof next === 'number' ? atRest(next) : Math.max(0, intervalMs - rest)
      return next === true ? undefined : rest
    } catch (error) {
      failures += 1
      waitMs = intervalMs
      if (!signal.aborted) logger.error({ err: error, loop: name }, 'a pass of a loop failed')
      return backoffMs({ tries: failures, firstMs: FIRST_REST_MS, maxMs: MAX_REST_MS })
    } finally {
      onProgress?.()
    }
  }

  /** A kick that came during the pass ends the wait before it begins. */
  const untilKicked = async (signal: AbortSignal): Promise<void> => {
    if (isKicked) return
    const woken = new AbortController()
    wake = () => woken.abort()
    await clock.sleep(waitMs, AbortSignal.any([signal, woken.signal]))
    wake = undefined
  }

  const kickHere = (): void => {
    isKicked = true
    wake?.()
  }

  return {
    kick() {
      kickHere()
      bell?.ring()
    },
    async run(signal) {
      const endListening = bell?.listen(kickHere)
      while (!signal.aborted) {
        const rest = await passOnce(signal)
        if (rest === undefined) continue
        if (rest > 0) await clock.sleep(rest, signal)
        await untilKicked(signal)
      }
      endListening?.()
    },
  }
}

/** How long a loop rests at most: where nobody kicks it, and where a bell is heard. */
const MAX_IDLE_MS = 2000
const MAX_BELLED_IDLE_MS = 30_000

const FIRST_REST_MS = 250
const MAX_REST_MS = 5000

/** How long to leave something alone that has been looked at so often in vain. */
export function backoffMs(options: { tries: number; firstMs: number; maxMs: number }): number {
  const { tries, firstMs, maxMs } = options
  return Math.min(firstMs * 2 ** Math.min(Math.max(tries - 1, 0), 30), maxMs)
}

/**
 * Tries until there is an answer, with growing pauses between the rounds; undefined where the last
 * one had none either.
 */
export async function inRounds<T>(
  pace: {
    clock: Clock
    rounds: number
    firstPauseMs: number
    maxPauseMs: number
    /** From 0 to 1: how much of the second half of each pause is waited. All of it without. */
    random?: () => number
    signal?: AbortSignal | undefined
  },
  once: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { clock, rounds, firstPauseMs: firstMs, maxPauseMs: maxMs, random = () => 1 } = pace
  const signal = pace.signal ?? new AbortController().signal
  for (let round = 1; round <= rounds; round++) {
    const answer = await once()
    if (answer !== undefined || round === rounds) return answer
    await clock.sleep(backoffMs({ tries: round, firstMs, maxMs }) * (0.5 + random() / 2), signal)
  }
  return undefined
}
