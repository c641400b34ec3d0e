import type { Environment } from '../base/config.ts'

/** When a delivery is tried again, and when an endpoint is given up. */
export type Schedule = {
  /** The pause after the first failed try, after the second and so on; then it has failed. */
  pausesMs: readonly number[]
  disableAfterMs: number
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export const SCHEDULES: Record<Environment, Schedule> = {
  production: {
    pausesMs: [
      5 * SECOND_MS,
      5 * MINUTE_MS,
      30 * MINUTE_MS,
      2 * HOUR_MS,
      5 * HOUR_MS,
      10 * HOUR_MS,
      14 * HOUR_MS,
      20 * HOUR_MS,
      24 * HOUR_MS,
    ],
    disableAfterMs: 5 * DAY_MS,
  },
  // As many tries, for somebody who waits to see them.
  sandbox: {
    pausesMs: [1, 2, 4, 8, 15, 30, 60, 120, 300].map((seconds) => seconds * SECOND_MS),
    disableAfterMs: 5 * DAY_MS,
  },
}

/**
 * The pause before the next try, up to a fifth shorter or longer, so that what failed together does
 * not come back together. Never shorter than the receiver asked for, up to a day. Undefined where
 * the schedule has ended.
 */
export function pauseAfter(failure: {
  schedule: Schedule
  /** This one included. */
  tries: number
  retryAfterMs: number | undefined
  /** From 0 to 1. */
  random: number
}): number | undefined {
  const { schedule, tries, retryAfterMs = 0, random } = failure
  const pauseMs = schedule.pausesMs[tries - 1]
  if (pauseMs === undefined) return undefined
  const jittered = Math.round(pauseMs * (1 - JITTER + 2 * JITTER * random))
  return Math.max(jittered, Math.min(retryAfterMs, DAY_MS))
}

const JITTER = 0.2
