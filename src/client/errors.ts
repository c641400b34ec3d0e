import { BaseError } from '../base/errors.ts'
import type { FailureCode } from '../wire/errors.ts'

/** Why a call failed where the server did not say so itself. */
export type ClientErrorCode =
  /** The call makes no sense; nothing was sent. */
  | 'invalid_call'
  | 'aborted'
  | 'timed_out'
  | 'network_failed'
  /** The server points elsewhere. It is not followed: a credential goes to one address only. */
  | 'redirected'
  | 'answer_too_large'
  | 'answer_not_json'
  /** The answer is JSON, but lacks what it must have. */
  | 'answer_unexpected'
  /** A list gives the same rows for ever. */
  | 'list_repeats'
  /** A webhook whose signature, time or form is wrong. */
  | 'webhook_invalid'

/** Servers have codes of their own too, so a program must bear with one that it does not know. */
export type ApiErrorCode = FailureCode | ClientErrorCode | (string & {})

/** One field that the server refuses. */
export type FieldError = { field: string; code: string; message: string }

export type ApiErrorFacts = {
  code: ApiErrorCode
  retryable?: boolean
  cause?: unknown
  status?: number | undefined
  requestId?: string | undefined
  serverCode?: string | number | undefined
  fields?: readonly FieldError[]
  retryAfterMs?: number | undefined
  wasNotProcessed?: boolean
}

/**
 * Every failure of a call. `code` is for programs, the message for people.
 *
 * @example
 *   ```ts
 *   import { ApiError } from 'quittance/client'
 *
 *   const isTemporary = (error: unknown): boolean => error instanceof ApiError && error.retryable
 *   console.log(isTemporary(new Error('unknown')))
 *   ```
 */
export class ApiError extends BaseError {
  override readonly name: string = 'ApiError'
  declare readonly code: ApiErrorCode
  /** Undefined where no answer came. */
  readonly status: number | undefined
  /** Names the try in the logs of the server. */
  requestId: string | undefined
  /** The code as the server wrote it; Group A's are numbers. */
  readonly serverCode: string | number | undefined
  readonly fields: readonly FieldError[]
  readonly retryAfterMs: number | undefined
  /** The server says that it did nothing with the request, so a repeat is safe without a key. */
  readonly wasNotProcessed: boolean
  /** How often it was tried. */
  tries = 0
  /** Of a POST: call again with this key, and it happens once however often it is called. */
  idempotencyKey: string | undefined
  /** True where the server may have acted on it: look, or call again with the same key. */
  mayHaveHappened = false

  constructor(message: string, facts: ApiErrorFacts) {
    const { code, cause, retryable = false } = facts
    super(message, { code, retryable, cause })
    this.status = facts.status
    this.requestId = facts.requestId
    this.serverCode = facts.serverCode
    this.fields = facts.fields ?? []
    this.retryAfterMs = facts.retryAfterMs
    this.wasNotProcessed = facts.wasNotProcessed ?? false
  }
}

export function invalidCall(message: string): ApiError {
  return new ApiError(message, { code: 'invalid_call' })
}
