import { BaseError } from '../base/errors.ts'
import type { Verdict } from '../verify/index.ts'

/** The codes of a `NotSettledError`; only `not_settled_yet` may become a payment later. */
export type NotSettledCode =
  /** What is in the chain is not what was asked for; the verdict says in what. */
  | 'chain_disagrees'
  /** The record says failed, and the chain says paid. Do not pay again. */
  | 'record_disagrees'
  /** The record says failed, and the chain shows no payment. */
  | 'payment_failed'
  /** The chain has one payment, and two records claim it. */
  | 'hash_reused'
  /** The server tells no reference, so nothing binds the event to this payment. */
  | 'not_provable'
  /** Neither yes nor no so far; ask again. */
  | 'not_settled_yet'

/**
 * Why `settled()` does not resolve.
 *
 * @example
 *   ```ts
 *   import { NotSettledError } from 'quittance'
 *
 *   const mayPayAgain = (error: unknown): boolean =>
 *     error instanceof NotSettledError && error.code === 'payment_failed'
 *   console.log(mayPayAgain(new Error('unknown')))
 *   ```
 */
export class NotSettledError extends BaseError {
  override readonly name = 'NotSettledError'
  declare readonly code: NotSettledCode
  /** What the chain said last; undefined where it was not asked. */
  readonly verdict: Verdict | undefined
  /** What the server said last. */
  readonly record: unknown

  constructor(
    message: string,
    facts: {
      code: NotSettledCode
      verdict?: Verdict | undefined
      record?: unknown
      cause?: unknown
    },
  ) {
    super(message, {
      code: facts.code,
      retryable: facts.code === 'not_settled_yet',
      cause: facts.cause,
    })
    this.verdict = facts.verdict
    this.record = facts.record
  }
}
