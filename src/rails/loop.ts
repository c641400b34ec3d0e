import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'

/** Work that is found in the tables, looked for again and again. */
export type Loop = {
  /** Looks now. A kick that is lost costs one interval, and nothing else. */
  kick: () => void
  /** One pass after the other until the signal ends it. */
  run: (signal: AbortSignal) => Promise<void>
}

export function createLoop(deps: {
  name: string
  clock: Clock
  logger: Logger
  pollIntervalMs: number
  /** Called at the end of each pass; a pass of many rounds may call it for each of them. */
  onProgress?: (() => void) | undefined
  pass: (signal: AbortSignal) => Promise<void>
}): Loop {
  const { name, clock, logger, pollIntervalMs, onProgress, pass } = deps
  let isKicked = false
  let wake: (() => void) | undefined
  return {
    kick() {
      isKicked = true
      wake?.()
    },
    async run(signal) {
      while (!signal.aborted) {
        isKicked = false
        try {
          await pass(signal)
        } catch (error) {
          if (!signal.aborted) logger.error({ err: error, rail: name }, 'a pass of a rail failed')
        }
        onProgress?.()
        const controller = new AbortController()
        wake = () => controller.abort()
        // A kick that came during the pass ends the wait before it begins.
        if (!isKicked)
          await clock.sleep(pollIntervalMs, AbortSignal.any([signal, controller.signal]))
        wake = undefined
      }
    },
  }
}

/** How long to leave something alone that has been looked at so often in vain. */
export function backoffMs(options: { tries: number; firstMs: number; maxMs: number }): number {
  const { tries, firstMs, maxMs } = options
  return Math.min(firstMs * 2 ** Math.min(Math.max(tries - 1, 0), 30), maxMs)
}
