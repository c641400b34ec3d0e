import { Agent as HttpAgent, request as requestByHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as requestByHttps } from 'node:https'
import type { LookupFunction } from 'node:net'

import { untilAborted, type Clock } from '../base/clock.ts'
import { BaseError, codeOf } from '../base/errors.ts'
import { parseRetryAfter } from '../base/time.ts'
import type { DeliveryTry, TryOutcome } from '../domain/notifications.ts'
import type { Address } from './address.ts'
import type { Target, Targets } from './targets.ts'

export type SendRequest = {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  /** The program stops. */
  signal: AbortSignal
}

export type SendResult = DeliveryTry & {
  /** What the receiver asked for. */
  retryAfterMs: number | undefined
}

/** Makes one request. Rejects only when the signal aborts: every other end is a result. */
export type Send = (request: SendRequest) => Promise<SendResult>

export function createSend(deps: { targets: Targets; clock: Clock; timeoutMs: number }): Send {
  const { targets, clock, timeoutMs } = deps
  return async ({ signal, ...request }) => {
    const startedAt = clock.now()
    const begunAt = performance.now()
    const timeout = AbortSignal.timeout(timeoutMs)
    const either = AbortSignal.any([signal, timeout])
    // A name server that hangs would otherwise hold the try beyond its time.
    const result = await untilAborted(either, async () => {
      const target = targets.read(request.url)
      const addresses = await targets.locate(target, either)
      return readResult(await post({ ...request, target, addresses, signal: either }), clock)
    }).catch((error: unknown) => {
      signal.throwIfAborted()
      return timeout.aborted ? TIMED_OUT : failureOf(error)
    })
    return { startedAt, durationMs: Math.round(performance.now() - begunAt), ...result }
  }
}

type Result = Omit<SendResult, 'startedAt' | 'durationMs'>

const NOTHING = { status: null, answerBytes: null, retryAfterMs: undefined }
const TIMED_OUT: Result = { ...NOTHING, outcome: 'timed_out', error: 'timed_out' }

function failureOf(error: unknown): Result {
  const code = codeOf(error) ?? 'unknown'
  const isForbidden = ['address_forbidden', 'url_invalid', 'url_not_https'].includes(code)
  return { ...NOTHING, outcome: isForbidden ? 'forbidden' : 'unreachable', error: code }
}

/**
 * Connects to one of the addresses that were checked, and asks no name server again; the name
 * stays what the certificate is checked against. A connection is used once, since the next try
 * checks anew. Redirects are answers like any other here.
 */
function post(
  options: Omit<SendRequest, 'url'> & { target: Target; addresses: readonly Address[] },
): Promise<IncomingMessage> {
  const { target, addresses, headers, body, signal } = options
  const isHttps = target.url.protocol === 'https:'
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = (isHttps ? requestByHttps : requestByHttp)(target.url, {
    method: 'POST',
    agent: isHttps ? httpsAgent : httpAgent,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    lookup: lookupOf(addresses),
    signal,
  })
  request.on('response', resolve)
  request.on('error', reject)
  // A receiver that switches to another protocol (101) ends the request without an answer.
  request.on('close', () => reject(new NoAnswerError()))
  request.end(body)
  return promise
}

const httpAgent = new HttpAgent({ keepAlive: false })
const httpsAgent = new HttpsAgent({ keepAlive: false })

function lookupOf(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, answer) => {
    const [first] = addresses
    if (all || !first) answer(null, [...addresses])
    else answer(null, first.address, first.family)
  }
}

async function readResult(response: IncomingMessage, clock: Clock): Promise<Result> {
  const status = response.statusCode ?? 0
  if (status < 100 || status > 599) {
    response.destroy()
    return { ...NOTHING, outcome: 'unreachable', error: 'status_invalid' }
  }
  const answerBytes = await measureStart(response)
  const retryAfterMs = parseRetryAfter(response.headers['retry-after'], clock.now().getTime())
  return { outcome: outcomeOf(status), status, answerBytes, error: null, retryAfterMs }
}

function outcomeOf(status: number): TryOutcome {
  if (status >= 200 && status < 300) return 'delivered'
  if (status >= 300 && status < 400) return 'redirected'
  return status === 410 ? 'gone' : 'refused'
}

/**
 * How long the body is, up to a limit. The status has been given by then, so a body that hangs or
 * breaks changes nothing, and is not waited for as long as a status would be.
 */
async function measureStart(response: IncomingMessage): Promise<number> {
  let size = 0
  const patience = setTimeout(() => response.destroy(), BODY_TIMEOUT_MS)
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size >= MAX_ANSWER_BYTES) break
    }
  } catch {
    // What came until then is counted.
  } finally {
    clearTimeout(patience)
    response.destroy()
  }
  return Math.min(size, MAX_ANSWER_BYTES)
}

const MAX_ANSWER_BYTES = 1024
const BODY_TIMEOUT_MS = 1000

class NoAnswerError extends BaseError {
  constructor() {
    super('The receiver closed the connection without an answer.', { code: 'no_answer' })
  }
}
