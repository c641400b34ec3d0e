import { ApiError } from './errors.ts'

/** What the client needs of the place where it runs; a test brings its own. */
export type Runtime = {
  fetch: typeof fetch
  /** Milliseconds. */
  now: () => number
  /** Calls back after the time, unless the function that it returns was called before. */
  after: (ms: number, done: () => void) => () => void
  /** From 0 to 1, for pauses. */
  random: () => number
  /** For ids and keys that nobody else may have. */
  randomId: () => string
}

export const platformRuntime: Runtime = {
  // Looked up at each call: a browser refuses it with another `this`.
  fetch: (input, init) => globalThis.fetch(input, init),
  now: Date.now,
  after: (ms, done) => {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  },
  random: Math.random,
  // randomUUID is missing in pages that came over plain HTTP.
  randomId: () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
      byte.toString(16).padStart(2, '0'),
    ).join(''),
}

/** Waits, or throws `aborted` as soon as the signal does. */
export async function sleep(
  runtime: Runtime,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  await unlessAborted(signal, (resolve: (value: void) => void) => runtime.after(ms, resolve))
}

/** Waits for shared work. A caller may stop waiting without ending the work. */
export function waitFor<T>(
  work: Promise<T>,
  limits: { runtime: Runtime; timeoutMs: number; signal: AbortSignal | undefined },
): Promise<T> {
  const { runtime, timeoutMs, signal } = limits
  return unlessAborted(signal, (resolve, reject) => {
    work.then(resolve, reject)
    return runtime.after(timeoutMs, () => reject(timedOut(timeoutMs)))
  })
}

export function timedOut(timeoutMs: number, cause?: unknown): ApiError {
  const message = `The server did not answer within ${timeoutMs} ms.`
  return new ApiError(message, { code: 'timed_out', retryable: true, cause })
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw aborted(signal)
}

export function aborted(signal: AbortSignal): ApiError {
  return new ApiError('The caller canceled the call.', { code: 'aborted', cause: signal.reason })
}

async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void,
): Promise<T> {
  throwIfAborted(signal)
  let leave: (() => void) | undefined
  let cancel: (() => void) | undefined
  try {
    return await new Promise<T>((resolve, reject) => {
      leave = () => signal && reject(aborted(signal))
      signal?.addEventListener('abort', leave, { once: true })
      cancel = start(resolve, reject)
    })
  } finally {
    cancel?.()
    if (leave) signal?.removeEventListener('abort', leave)
  }
}
