import type { Clock } from '../../src/base/clock.ts'

export type TestClock = Clock & {
  /** Time passes only by this. */
  advance: (ms: number) => void
}

/** Stands still at the real time unless another start is given. */
export function createTestClock(start: Date = new Date()): TestClock {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    sleep: async () => undefined,
    advance: (ms) => void (now += ms),
  }
}

export type JumpingClock = TestClock & {
  /** Every wait that was asked for, in milliseconds. */
  slept: number[]
}

/** Jumps over each wait, so that a test sees pauses without spending them. */
export function createJumpingClock(start?: Date): JumpingClock {
  const clock = createTestClock(start)
  const slept: number[] = []
  return {
    ...clock,
    slept,
    sleep(ms, signal) {
      slept.push(ms)
      if (!signal.aborted) clock.advance(ms)
      return Promise.resolve()
    },
  }
}
