/**
 * What one provider's calls tell of it. Only failures of the line and nonsense count against it: an
 * error that it returns is an answer.
 */
export type Health = {
  onAnswered: (call: { nowMs: number; tookMs: number }) => void
  onFailed: (nowMs: number) => void
  /** 0 to 1: the share of calls that were answered lately, less for slow ones. */
  score: () => number
  circuit: (nowMs: number) => Circuit
}

/**
 * `closed`: in use. `open`: left alone after failures in a row. `trial`: left alone for long enough
 * that the next call may show whether it recovered.
 */
export type Circuit = 'closed' | 'open' | 'trial'

export function createHealth(): Health {
  let success = 1
  let latencyMs = 0
  let failures = 0
  let openUntilMs: number | undefined
  return {
    onAnswered({ tookMs }) {
      success += (1 - success) * WEIGHT
      latencyMs += (tookMs - latencyMs) * WEIGHT
      failures = 0
      openUntilMs = undefined
    },
    onFailed(nowMs) {
      success -= success * WEIGHT
      failures += 1
      if (failures < FAILURES_TO_OPEN) return
      const openings = Math.min(failures - FAILURES_TO_OPEN, MAX_DOUBLINGS)
      openUntilMs = nowMs + FIRST_OPEN_MS * 2 ** openings
    },
    score: () => success / (1 + latencyMs / SLOW_MS),
    circuit(nowMs) {
      if (openUntilMs === undefined) return 'closed'
      return nowMs < openUntilMs ? 'open' : 'trial'
    },
  }
}

/** The last ten calls or so make up the score. */
const WEIGHT = 0.2
const FAILURES_TO_OPEN = 3
const FIRST_OPEN_MS = 500
/** 500 ms to 32 s. */
const MAX_DOUBLINGS = 6
/** A provider that takes this long is worth half of one that answers at once. */
const SLOW_MS = 2000
