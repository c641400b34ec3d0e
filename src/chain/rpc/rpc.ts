import { limits } from '../../base/limits.ts'
import { exchangeByFetch } from './http-fetch.ts'
import { HttpError, type Exchange, type HttpAnswer } from './http.ts'
import { refusalOf, RpcError, type JsonRpcError, type RpcErrorCode } from './rpc-error.ts'

export type RpcRequest = RpcLine & RpcItem

export type RpcItem = { method: string; params?: readonly unknown[] }

export type RpcOutcome = { ok: true; result: unknown } | { ok: false; error: RpcError }

/** Where calls go, and how long and how large an answer may be. */
export type RpcLine = {
  url: string
  timeoutMs?: number
  maxAnswerBytes?: number
  signal?: AbortSignal
  /** How a request is made: by `fetch`, unless the caller says otherwise. */
  exchange?: Exchange
}

/**
 * One JSON-RPC call over HTTP. Whatever is not a result is an error that says what the provider
 * did.
 */
export async function callRpc(request: RpcRequest): Promise<unknown> {
  const { method, params = [], ...line } = request
  const target = { line, what: method, provider: nameOfProvider(line.url) }
  const { body, status, retryAfterMs } = await post(target, envelopeOf(1, { method, params }))
  const answer = asAnswer(body)
  if (answer === undefined || (answer.id ?? 1) !== 1) throw garbage(target, { status })
  return unwrap({ ...target, method, secrets: secretsOf(line.url), retryAfterMs }, answer)
}

/**
 * Several calls in one HTTP request. Each item has its own outcome; the promise is rejected only
 * when the request as a whole failed.
 */
export async function callRpcBatch(
  line: RpcLine,
  items: readonly RpcItem[],
): Promise<RpcOutcome[]> {
  if (items.length === 0) return []
  const provider = nameOfProvider(line.url)
  const what = `a batch of ${items.length}`
  const target = { line, what, provider }
  const messages = items.map((item, index) => envelopeOf(index + 1, item))
  const { body, status, retryAfterMs } = await post(target, messages)
  const secrets = secretsOf(line.url)
  if (!Array.isArray(body)) {
    const answer = asAnswer(body)
    if (answer?.error === undefined) throw garbage(target, { status })
    // One error for all: batches are refused, too large, or too many.
    unwrap({ ...target, method: what, secrets, retryAfterMs }, answer)
  }
  const answers = byId(body as unknown[])
  return items.map(({ method }, index) => {
    const answer = answers.get(index + 1)
    if (answer === undefined) {
      return { ok: false, error: garbage({ ...target, what: method }, { status }) }
    }
    try {
      return {
        ok: true,
        result: unwrap({ ...target, method, secrets, retryAfterMs }, answer),
      }
    } catch (error) {
      if (error instanceof RpcError) return { ok: false, error }
      throw error
    }
  })
}

/** Many providers' addresses contain keys in their path or query, so only the host is shown. */
export function nameOfProvider(url: string): string {
  return URL.parse(url)?.host ?? 'the provider'
}

type Asked = { line: RpcLine; what: string; provider: string }
type JsonRpcAnswer = { id?: unknown; result?: unknown; error?: JsonRpcError | null }
type Posted = { body: unknown; status: number; retryAfterMs: number | undefined }

function envelopeOf(id: number, { method, params = [] }: RpcItem): object {
  return { jsonrpc: '2.0', id, method, params }
}

/** Sends one body and reads the JSON that comes back, within the limits of the line. */
async function post(call: Asked, json: object): Promise<Posted> {
  const { text, status, ok, retryAfterMs } = await exchangeOnLine(call, json)
  if (status === 429 || (status === 503 && retryAfterMs !== undefined)) {
    throw rateLimited(call, { status, retryAfterMs })
  }
  const body = parseJson(text)
  if (body !== undefined) return { body, status, retryAfterMs }
  throw ok ? garbage(call, { status }) : failure(call, 'rpc_unreachable', `HTTP status ${status}`)
}

async function exchangeOnLine(call: Asked, json: object): Promise<HttpAnswer> {
  const { url, timeoutMs, maxAnswerBytes, signal, exchange = exchangeByFetch } = call.line
  try {
    return await exchange({
      url,
      json,
      signal,
      timeoutMs: timeoutMs ?? limits.rpcTimeoutMs,
      maxAnswerBytes: maxAnswerBytes ?? limits.rpcAnswerBytes,
    })
  } catch (error) {
    if (error instanceof HttpError) throw failure(call, `rpc_${error.code}`, error.message)
    throw error
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function asAnswer(body: unknown): JsonRpcAnswer | undefined {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? body : undefined
}

/** Of doubled answers the first counts; what nobody asked for is passed over. */
function byId(body: readonly unknown[]): Map<unknown, JsonRpcAnswer> {
  const answers = new Map<unknown, JsonRpcAnswer>()
  for (const candidate of body) {
    const answer = asAnswer(candidate)
    if (answer !== undefined && !answers.has(answer.id)) answers.set(answer.id, answer)
  }
  return answers
}

function unwrap(
  call: Asked & { method: string; secrets: readonly string[]; retryAfterMs: number | undefined },
  answer: JsonRpcAnswer,
): unknown {
  if (answer.error !== undefined && answer.error !== null) {
    const { code, message, data } = answer.error
    const clean = typeof message === 'string' ? withoutSecrets(message, call.secrets) : undefined
    throw refusalOf(call, { code, message: clean, data })
  }
  if (answer.result === undefined) throw garbage(call, {})
  return answer.result
}

/** The parts of an address that may be a key, which some gateways repeat in their errors. */
function secretsOf(url: string): string[] {
  const parsed = URL.parse(url)
  if (parsed === null) return []
  const parts = [
    parsed.username,
    parsed.password,
    ...parsed.pathname.split('/'),
    ...parsed.searchParams.values(),
  ]
  return parts.filter((part) => part.length >= MIN_SECRET_LENGTH)
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '…'), text)
}

const MIN_SECRET_LENGTH = 8

function garbage(call: Asked, details: { status?: number }): RpcError {
  return failure(call, 'rpc_garbage', 'its answer is not JSON-RPC', details)
}

function rateLimited(
  { provider, what }: Asked,
  answer: { status: number; retryAfterMs: number | undefined },
): RpcError {
  return new RpcError(
    `${provider} did not answer ${what}: too many requests. Wait, or add a provider to ETH_RPC_URL.`,
    { code: 'rpc_rate_limited', details: { provider, ...answer }, ...answer },
  )
}

function failure(
  { provider, what }: Asked,
  code: RpcErrorCode,
  reason: string,
  details: Record<string, unknown> = {},
): RpcError {
  return new RpcError(
    `${provider} did not answer ${what}: ${reason}. Check ETH_RPC_URL and that the node runs.`,
    { code, details: { provider, method: what, ...details } },
  )
}
