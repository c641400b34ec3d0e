/** By how many milliseconds the event loop is late now, or was a moment ago. */
export type LoopDelay = { ms: () => number; stop: () => void }

export function createLoopDelay(now: () => number): LoopDelay {
  let tickedAt = now()
  let lastMs = 0
  const lateness = (): number => Math.max(now() - tickedAt - TICK_MS, 0)
  const timer = setInterval(() => {
    lastMs = lateness()
    tickedAt = now()
  }, TICK_MS).unref()
  return {
    ms: () => Math.max(lastMs, lateness()),
    stop: () => clearInterval(timer),
  }
}

const TICK_MS = 50
