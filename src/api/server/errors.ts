import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { codeOf } from '../../base/errors.ts'
import { troubleOf, type Trouble } from '../../store/database/trouble.ts'
import { failures, RequestError, type FailureCode } from '../../wire/errors.ts'
import { stringifyJson } from '../../wire/json.ts'
import { groupOf, newRequestId, setCommonHeaders, type Group } from './headers.ts'
import { isUnlogged } from './request-logger.ts'

/** The one place where a failure becomes an answer, in the words of the group that was asked. */
export function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = toRequestError(error)
  const answer = describeFailure({
    failure,
    group: groupOf(request.url),
    requestId: request.id,
    wantsProblem: wantsProblem(request.headers.accept),
  })
  // A path that cannot be decoded comes here without passing the guard.
  setCommonHeaders(request, reply)
  if (answer.status >= 500 && !isUnlogged(request))
    request.log.error({ err: failure.cause ?? failure }, failure.failure)
  reply.code(answer.status).headers(answer.headers).send(answer.body)
}

export type FailureAnswer = { status: number; headers: Record<string, string>; body: string }

/** The answer as text, also for failures that end a connection before there is a request. */
export function describeFailure(options: {
  failure: RequestError
  group: Group
  requestId: string
  wantsProblem: boolean
}): FailureAnswer {
  const { failure, group, wantsProblem } = options
  const { status, code } = statusAndCode(failure, group)
  const own = group === 'a' ? groupABody(failure, code) : groupBBody(failure, options.requestId)
  const body = wantsProblem
    ? {
        type: `urn:quittance:problem:${failure.failure}`,
        title: failures[failure.failure].title,
        status,
        detail: failure.message,
        instance: `urn:quittance:request:${options.requestId}`,
        code: own.code,
        request_id: options.requestId,
        ...('details' in own ? { details: own.details } : { errors: own.errors }),
      }
    : own
  return {
    status,
    headers: {
      'content-type': `application/${wantsProblem ? 'problem+json' : 'json'}; charset=utf-8`,
      ...(status === 401 ? { 'www-authenticate': CHALLENGES[group] } : {}),
      ...(status === 503 ? { 'retry-after': '1' } : {}),
      ...failure.headers,
    },
    body: stringifyJson(body),
  }
}

/**
 * Answers, on the bare connection, what never became a request: broken framing, endless headers, or
 * a body that trickles in for longer than the limit.
 */
export function answerBrokenRequest(error: Error, socket: Socket): void {
  const code = codeOf(error)
  if (code === 'ECONNRESET' || socket.destroyed) return
  if (socket.writable) {
    const requestId = newRequestId(Date.now())
    const answer = describeFailure({
      failure: failureOf(code),
      group: 'b',
      requestId,
      wantsProblem: false,
    })
    const head = [
      `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
      ...Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(answer.body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
    ].join('\r\n')
    socket.write(`${head}\r\n\r\n${answer.body}`)
  }
  socket.destroySoon()
}

function failureOf(code: string | undefined): RequestError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new RequestError('request_timeout', 'The request did not arrive in time. Try again.')
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new RequestError(
      'headers_too_large',
      'The headers are too large. Send fewer or shorter headers.',
    )
  }
  return new RequestError('invalid_request', 'This is not valid HTTP. Correct the request.')
}

const CHALLENGES = {
  a: 'Bearer realm="quittance"',
  b: 'Bearer realm="quittance", ApiKey realm="quittance", header="X-API-Key"',
} as const

function statusAndCode(failure: RequestError, group: Group): { status: number; code: number } {
  const entry: { status: number; groupA: number; statusA?: number } = failures[failure.failure]
  return {
    status: group === 'a' ? (entry.statusA ?? entry.status) : entry.status,
    code: failure.groupA ?? entry.groupA,
  }
}

function groupBBody(failure: RequestError, requestId: string) {
  return {
    success: false,
    error: failure.message,
    code: failure.failure,
    request_id: requestId,
    details: failure.problems.map(({ field, code, message }) => ({ field, code, message })),
  }
}

function groupABody(failure: RequestError, code: number) {
  const errors = failure.problems.map((problem) => ({
    error: problem.code,
    message: problem.message,
    location: problem.field,
    invalidValue: problem.value ?? null,
    constraints: problem.constraints ?? {},
  }))
  return { code, message: failure.message, ...(errors.length > 0 ? { errors } : {}) }
}

/** Problem details are given to those who ask for them by name, and prefer them to plain JSON. */
export function wantsProblem(accept: string | undefined): boolean {
  if (!accept?.includes('problem+json')) return false
  const problem = qualityOf(accept, 'application/problem+json')
  return problem > 0 && problem >= qualityOf(accept, 'application/json')
}

function qualityOf(accept: string, type: string): number {
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (name !== type) continue
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0
  }
  return 0
}

function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  const trouble = troubleOf(error)
  if (trouble) return new RequestError(...TROUBLES[trouble], { cause: error, retryable: true })
  const code = codeOf(error) ?? ''
  const ofSigner = SIGNER_FAILURES[code]
  if (ofSigner) return new RequestError(...ofSigner, { cause: error, retryable: true })
  const known = FRAMEWORK_FAILURES[code]
  if (known) return new RequestError(known[0], known[1], { cause: error })
  const status: unknown = (error as { statusCode?: unknown } | null)?.statusCode
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new RequestError('invalid_request', 'The request cannot be read. Correct its form.')
  }
  const sentence = 'The server failed. Try again, or report the problem with the id of the request.'
  return new RequestError('internal_error', sentence, { cause: error })
}

/** What the database could not do, which passes by itself. */
const TROUBLES: Readonly<Record<Trouble, readonly [FailureCode, string]>> = {
  unavailable: [
    'database_unavailable',
    'The database cannot be used now. Try again in a moment: a POST with its Idempotency-Key, or ' +
      'after a look whether it happened.',
  ],
  busy: [
    'unavailable',
    'Other requests locked the records of this one for too long. Nothing was done. Try again.',
  ],
}

/** A signer elsewhere is asked between two tries of a transaction, wherever that is. */
const SIGNER_FAILURES: Readonly<Record<string, readonly [FailureCode, string]>> = {
  signer_failed: [
    'signer_unavailable',
    'The signer did not sign in time. Nothing was done. Try again in a moment.',
  ],
  signature_wrong: [
    'upstream_failed',
    'The signer signed another transaction. Nothing was done. Ask the operator to check the signer.',
  ],
  signer_missing: [
    'upstream_failed',
    'The payer no longer has a signer. Nothing was done. Ask the operator to check QUITTANCE_SIGNER.',
  ],
}

/** The framework's own refusals, by its codes. */
const FRAMEWORK_FAILURES: Readonly<Record<string, readonly [FailureCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [
    'body_too_large',
    'The body is larger than 65,536 bytes. Send a smaller one.',
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The body must be JSON in UTF-8. Send it as Content-Type: application/json.',
  ],
  FST_ERR_BAD_URL: ['invalid_request', 'The path cannot be decoded. Correct its percent signs.'],
}
