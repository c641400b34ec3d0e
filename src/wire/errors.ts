import { BaseError } from '../base/errors.ts'

/**
 * Every way in which a request can fail. `status` is Group B's and `groupA` is that group's numeric
 * code, -1 where it has none of its own; `statusA` stands where Group A answers with another
 * status.
 */
export const failures = {
  invalid_request: { status: 400, groupA: 2, title: 'The request is not valid' },
  contract_not_configured: { status: 400, groupA: 2005, title: 'There is no settlement contract' },
  bank_not_configured: { status: 400, groupA: 2007, title: 'There is no bank' },
  insufficient_funds: { status: 400, groupA: 1093, title: 'There is not enough money' },
  limit_exceeded: { status: 400, groupA: 1076, title: 'The amount is above a limit' },
  payment_would_fail: { status: 400, groupA: 2, title: 'The payment would fail on the chain' },
  unauthorized: { status: 401, groupA: 1, title: 'No valid credential' },
  forbidden: { status: 403, groupA: 3, title: 'The credential lacks the scope' },
  policy_refused: { status: 403, groupA: 3, title: 'A rule refuses the payment' },
  not_found: { status: 404, groupA: -1, title: 'Not found' },
  method_not_allowed: { status: 405, groupA: -1, title: 'Method not allowed' },
  not_acceptable: { status: 406, groupA: -1, title: 'Not acceptable' },
  request_timeout: { status: 408, groupA: -1, title: 'The request took too long' },
  conflict: { status: 409, groupA: -1, title: 'Conflict' },
  idempotency_in_flight: {
    status: 409,
    groupA: 1083,
    title: 'The first request is still in progress',
  },
  idempotency_key_reused: {
    status: 422,
    groupA: 1083,
    statusA: 409,
    title: 'The idempotency key was used for another request',
  },
  body_too_large: { status: 413, groupA: 2, title: 'The body is too large' },
  unsupported_media_type: { status: 415, groupA: 2, title: 'The body is not JSON' },
  rate_limited: { status: 429, groupA: -1, title: 'Too many requests' },
  headers_too_large: { status: 431, groupA: -1, title: 'The headers are too large' },
  internal_error: { status: 500, groupA: -1, title: 'Internal error' },
  upstream_failed: { status: 502, groupA: -1, title: 'An upstream system failed' },
  overloaded: { status: 503, groupA: -1, title: 'Too many requests are waiting' },
  unavailable: { status: 503, groupA: -1, title: 'Temporarily unavailable' },
  database_unavailable: { status: 503, groupA: -1, title: 'The database cannot be used now' },
  operator_needed: { status: 503, groupA: -1, title: 'The operator must act before this works' },
  signer_unavailable: { status: 503, groupA: -1, title: 'The signer cannot be used now' },
  upstream_timeout: { status: 504, groupA: -1, title: 'An upstream system took too long' },
} as const satisfies Record<string, Failure>

type Failure = { status: number; groupA: number; statusA?: number; title: string }

export type FailureCode = keyof typeof failures

/** One field that is wrong; the words of `code` are JSON Schema's keywords, or ours. */
export type FieldProblem = {
  /** `recipient_info.account_number`, `query.limit`, `header.idempotency-key` */
  field: string
  code: string
  message: string
  /** What came and what was wanted; Group A tells both, and never for a secret. */
  value?: unknown
  constraints?: Readonly<Record<string, unknown>>
}

/**
 * A request that is refused. Thrown anywhere below the API and turned into an answer in one place.
 */
export class RequestError extends BaseError {
  override readonly name = 'RequestError'
  readonly failure: FailureCode
  readonly problems: readonly FieldProblem[]
  readonly headers: Readonly<Record<string, string>>
  /**
   * Group A's code where the failure alone does not tell it, as 1069 for a wallet that is not
   * found.
   */
  readonly groupA: number | undefined

  constructor(
    failure: FailureCode,
    message: string,
    options: {
      problems?: readonly FieldProblem[]
      headers?: Readonly<Record<string, string>>
      groupA?: number
      cause?: unknown
      retryable?: boolean
    } = {},
  ) {
    super(message, { code: failure, cause: options.cause, retryable: options.retryable ?? false })
    this.failure = failure
    this.problems = options.problems ?? []
    this.headers = options.headers ?? {}
    this.groupA = options.groupA
  }
}
