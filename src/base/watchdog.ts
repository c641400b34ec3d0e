import type { Clock } from './clock.ts'
import { BaseError } from './errors.ts'
import type { Logger } from './logger.ts'
import { createLoop } from './loop.ts'

/** Notices loops that stand still, whatever it is that they wait for. */
export type Watchdog = {
  /** Watches one more loop, which calls what this returns whenever it gets on. */
  watch: (name: string, limitMs: number) => () => void
  /** One for each loop. It rejects while the loop stands still. */
  checks: () => Array<{ name: string; check: () => Promise<void> }>
  /** Logs when a loop stands still, and when it gets on again, until the signal ends it. */
  run: (signal: AbortSignal) => Promise<void>
}

export function createWatchdog(deps: { clock: Clock; logger: Logger }): Watchdog {
  const { clock, logger } = deps
  const loops: Watched[] = []
  const nowMs = (): number => clock.now().getTime()
  const look = (loop: Watched): void => {
    const isStill = nowMs() - loop.atMs > loop.limitMs
    if (isStill === loop.isStill) return
    loop.isStill = isStill
    const { name, limitMs } = loop
    if (isStill) logger.error({ loop: name, limitMs }, 'a loop stands still')
    else logger.warn({ loop: name }, 'a loop that stood still continues')
  }
  const pass = async (): Promise<void> => loops.forEach(look)
  const loop = createLoop({ name: 'watchdog', clock, logger, intervalMs: LOOK_MS, pass })
  return {
    watch(name, limitMs) {
      const loop = { name, limitMs, atMs: nowMs(), isStill: false }
      loops.push(loop)
      return () => void (loop.atMs = nowMs())
    },
    checks: () =>
      loops.map((loop) => ({
        name: loop.name,
        async check() {
          const stillMs = nowMs() - loop.atMs
          if (stillMs > loop.limitMs) throw new StandsStillError(loop, stillMs)
        },
      })),
    run: loop.run,
  }
}

const LOOK_MS = 1000

type Watched = { name: string; limitMs: number; atMs: number; isStill: boolean }

class StandsStillError extends BaseError {
  constructor({ name, limitMs }: Watched, stillMs: number) {
    super(
      `The ${name} has finished no pass for ${Math.round(stillMs / 1000)} s; the limit is ` +
        `${Math.round(limitMs / 1000)} s. Read the log, and restart this process.`,
      { code: 'stands_still', retryable: true },
    )
  }
}
