import { setTimeout as sleepFor } from 'node:timers/promises'

/** Time is passed in, so that a test can hold it still. */
export type Clock = {
  now: () => Date
  /** Resolves after the time, or at once when the signal aborts; it never rejects. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    await sleepFor(ms, undefined, { signal, ref: true }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  },
}
