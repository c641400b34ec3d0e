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

/** Waits for work that may hang, until the signal aborts; then it rejects with the reason. */
export async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work(), aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
