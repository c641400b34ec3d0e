import { parseRetryAfter } from '../base/time.ts'
import { ApiError, type ApiErrorCode, type FieldError } from './errors.ts'
import type { HttpAnswer } from './exchange.ts'
import { readJson } from './json.ts'

export type AnswerFields = Record<string, unknown>

/** The answer's JSON, or the error that it stands for. */
export function readAnswer(answer: HttpAnswer, now: () => number): AnswerFields {
  if (answer.status === 204) return {}
  const body = parse(answer.text)
  const isGood = answer.status >= 200 && answer.status < 300
  // Servers may answer a failure with any status; only `success` tells.
  if (!isGood || body?.['success'] === false) throw failureOf(answer, body ?? {}, now)
  if (body === undefined) throw notJson(answer)
  return body
}

/** Throws where a field is missing without which the caller could not go on. */
export function requireFields(
  body: AnswerFields,
  fields: readonly string[],
  answer: { status: number; requestId: string },
): AnswerFields {
  const missing = fields.find((field) => body[field] === undefined)
  if (missing === undefined) return body
  throw new ApiError(`The answer has no ${missing}. Check the base address.`, {
    code: 'answer_unexpected',
    ...answer,
  })
}

function parse(text: string): AnswerFields | undefined {
  try {
    const body = readJson(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? (body as AnswerFields)
      : undefined
  } catch {
    return undefined
  }
}

function failureOf(answer: HttpAnswer, body: AnswerFields, now: () => number): ApiError {
  const { status, headers } = answer
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'), now())
  const serverCode = codeOf(body['code'])
  const code = wordFor({ serverCode, status, isToldToWait: retryAfterMs !== undefined })
  const sentence = [body['error'], body['message'], body['detail']].find(isText)
  return new ApiError(sentence ?? `The server answered with status ${status}.`, {
    code,
    status,
    serverCode,
    retryable: RETRYABLE.has(status) || code === 'idempotency_in_flight',
    requestId: headers.get('x-request-id') ?? textOf(body['request_id']),
    fields: fieldsOf(body),
    retryAfterMs,
    // A bare 503 may be that of a proxy, which sent the request on before it gave up.
    wasNotProcessed: status === 503 && headers.get('request-not-processed') === 'true',
  })
}

/** 501 and 505 will not change by waiting. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

function wordFor(facts: {
  serverCode: string | number | undefined
  status: number
  isToldToWait: boolean
}): ApiErrorCode {
  const { serverCode, status, isToldToWait } = facts
  if (isText(serverCode)) return serverCode
  // Group A has one number for both. An answer that says to wait does not mean a spent key.
  if (serverCode === 1083 && isToldToWait) return 'idempotency_in_flight'
  return WORDS[serverCode ?? -1] ?? WORDS[status] ?? `http_${status}`
}

/** Group A's codes, and what a status says where the body says nothing. */
const WORDS: Readonly<Record<number, ApiErrorCode>> = {
  1: 'unauthorized',
  2: 'invalid_request',
  3: 'forbidden',
  1051: 'payment_not_found',
  1069: 'wallet_not_found',
  1076: 'limit_exceeded',
  1077: 'amount_not_positive',
  1078: 'currency_unsupported',
  1083: 'idempotency_key_reused',
  1089: 'source_not_found',
  1093: 'insufficient_funds',
  2005: 'chain_unsupported',
  2007: 'combination_unsupported',
  5014: 'address_invalid',
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  408: 'request_timeout',
  409: 'conflict',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  500: 'internal_error',
  502: 'upstream_failed',
  503: 'unavailable',
  504: 'upstream_timeout',
}

/** Group B's `details`, or Group A's `errors`. */
function fieldsOf(body: AnswerFields): FieldError[] {
  const entries = [body['details'], body['errors']].find(Array.isArray) ?? []
  return entries.slice(0, 100).map((entry: unknown) => {
    const { field, location, code, error, message } = (entry ?? {}) as AnswerFields
    return {
      field: textOf(field) ?? textOf(location) ?? '',
      code: textOf(code) ?? textOf(error) ?? '',
      message: textOf(message) ?? '',
    }
  })
}

/** A page of a proxy, or half a body. */
function notJson(answer: HttpAnswer): ApiError {
  return new ApiError('The answer is not a JSON object, or it is incomplete.', {
    code: 'answer_not_json',
    status: answer.status,
    retryable: true,
    requestId: answer.headers.get('x-request-id') ?? undefined,
  })
}

function codeOf(value: unknown): string | number | undefined {
  return typeof value === 'number' || isText(value) ? value : undefined
}

function textOf(value: unknown): string | undefined {
  return isText(value) ? value : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
