import { untilAborted } from '../../base/clock.ts'
import { codeOf } from '../../base/errors.ts'
import { codeFrom, RailError } from '../reply.ts'

/**
 * Throw it in your own bank or gateway when the other party has refused, and it is certain that
 * nothing was done and nothing will be. The code says why, such as `account_closed`. Anything else
 * that you throw leaves the outcome unknown, and the platform asks again.
 *
 * @example
 *   ```ts
 *   import { RefusedError } from 'quittance/server'
 *
 *   export function requireOpen(account: { isClosed: boolean }): void {
 *     if (account.isClosed) throw new RefusedError('account_closed')
 *   }
 *   ```
 */
export class RefusedError extends RailError {
  constructor(code: string, cause?: unknown) {
    super('rail_refused', codeFrom(code, 'refused'), cause)
  }
}

/**
 * Asks a part that is not ours. Where it throws something else than a refusal, or does not answer
 * in time, the outcome is unknown.
 */
export async function askOwn<T>(
  of: { signal: AbortSignal; timeoutMs?: number | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = of
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    return await untilAborted(within, () => work(within))
  } catch (error) {
    if (error instanceof RailError) throw error
    throw new RailError('rail_unknown', within.aborted ? 'no_answer' : wordOf(error), error)
  }
}

/** As long as the parties have that we call ourselves. */
const DEFAULT_TIMEOUT_MS = 15_000

function wordOf(error: unknown): string {
  return codeFrom(codeOf(error), 'failed')
}

/** Text of a length that the database takes; undefined where there is none. */
export function readText(
  value: unknown,
  { name, max = 128 }: { name: string; max?: number },
): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' && value.length > 0 && value.length <= max) return value
  throw new RailError('rail_reply_wrong', name)
}

/** The same, where there must be one. */
export function requireText(value: unknown, of: { name: string; max?: number }): string {
  const text = readText(value, of)
  if (text === undefined) throw new RailError('rail_reply_wrong', of.name)
  return text
}

/** One of the words that are known. */
export function readWord<const Word extends string>(
  value: unknown,
  { name, words }: { name: string; words: readonly Word[] },
): Word {
  const word = words.find((one) => one === value)
  if (word === undefined) throw new RailError('rail_reply_wrong', name)
  return word
}

/** A code of somebody else in our own alphabet; undefined where there is none. */
export function readCode(value: unknown, name: string): string | undefined {
  const text = readText(value, { name, max: 512 })
  return text === undefined ? undefined : codeFrom(text, 'failed')
}
