import { BaseError, codeOf } from '../../base/errors.ts'
import { parseRetryAfter } from '../../base/time.ts'

export type HttpExchange = {
  url: string
  /** Sent as JSON by POST; a GET without it. */
  json?: object
  /** In addition to those that follow from the address and the body. */
  headers?: Readonly<Record<string, string>>
  /** A body that is not JSON, sent by POST; the headers contain its type. */
  text?: string
  timeoutMs: number
  maxAnswerBytes: number
  signal?: AbortSignal | undefined
}

export type HttpAnswer = {
  status: number
  ok: boolean
  text: string
  /** How long the server asked to be left alone. */
  retryAfterMs: number | undefined
}

/** One request whose answer is bounded in time and size. No error of it quotes the address. */
export async function exchange(options: HttpExchange): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(options.timeoutMs)
  try {
    const { address, authorization } = splitAddress(options.url)
    const response = await fetch(address, {
      headers: {
        ...(options.json && { 'content-type': 'application/json' }),
        ...(authorization && { authorization }),
        ...options.headers,
      },
      ...bodyOf(options),
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
      redirect: 'error',
    })
    const text = await readText(response, options.maxAnswerBytes)
    return {
      status: response.status,
      ok: response.ok,
      text,
      retryAfterMs: parseRetryAfter(response.headers.get('retry-after'), Date.now()),
    }
  } catch (error) {
    throw error instanceof HttpError ? error : failureOf(options, { timeout, error })
  }
}

function bodyOf({ json, text }: HttpExchange): { method: 'POST'; body: string } | undefined {
  const body = json === undefined ? text : JSON.stringify(json)
  return body === undefined ? undefined : { method: 'POST', body }
}

/** `fetch` refuses an address with a password in it, and would repeat it in its error. */
function splitAddress(url: string): { address: string; authorization: string | undefined } {
  const parsed = URL.parse(url)
  if (parsed === null || (parsed.username === '' && parsed.password === '')) {
    return { address: url, authorization: undefined }
  }
  const words = [parsed.username, parsed.password].map(decodeURIComponent).join(':')
  parsed.username = ''
  parsed.password = ''
  return {
    address: parsed.href,
    authorization: `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(words)))}`,
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await response.body?.cancel()
    throw tooLarge(maxBytes)
  }
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge(maxBytes)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function failureOf(
  options: HttpExchange,
  what: { timeout: AbortSignal; error: unknown },
): HttpError {
  if (options.signal?.aborted) return new HttpError('aborted', 'the wait was ended')
  if (what.timeout.aborted)
    return new HttpError('timeout', `no answer within ${options.timeoutMs} ms`)
  // `fetch` hides the reason in the cause. Its words may quote the address, so the code must do.
  const reason = codeOf((what.error as { cause?: unknown }).cause) ?? 'the connection failed'
  return new HttpError('unreachable', reason)
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError('answer_too_large', `its answer is larger than ${maxBytes} bytes`)
}

/** For the caller to put into words: the message is only the reason. */
export class HttpError extends BaseError {
  override readonly name = 'HttpError'
  declare readonly code: HttpErrorCode

  constructor(code: HttpErrorCode, reason: string) {
    super(reason, { code, retryable: code === 'timeout' || code === 'unreachable' })
  }
}

export type HttpErrorCode = 'aborted' | 'timeout' | 'unreachable' | 'answer_too_large'
