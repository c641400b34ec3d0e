import { parseRetryAfter } from '../../base/time.ts'
import {
  aborted,
  HttpError,
  timedOut,
  tooLarge,
  unreachable,
  type HttpAnswer,
  type JsonExchange,
} from './http.ts'

/** By `fetch`, for what runs in browsers as well. */
export async function exchangeByFetch(options: JsonExchange): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(options.timeoutMs)
  try {
    const { address, authorization } = splitAddress(options.url)
    const response = await fetch(address, {
      headers: {
        'content-type': 'application/json',
        ...(authorization && { authorization }),
      },
      method: 'POST',
      body: JSON.stringify(options.json),
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
  options: JsonExchange,
  what: { timeout: AbortSignal; error: unknown },
): HttpError {
  if (options.signal?.aborted) return aborted()
  if (what.timeout.aborted) return timedOut(options.timeoutMs)
  // `fetch` hides the reason in the cause.
  return unreachable((what.error as { cause?: unknown }).cause)
}
