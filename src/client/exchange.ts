import { BaseError } from '../base/errors.ts'
import { ApiError } from './errors.ts'
import { aborted, throwIfAborted, timedOut, type Runtime } from './runtime.ts'

export type HttpRequest = {
  method: string
  url: string
  headers: Record<string, string>
  body?: string | undefined
}

export type HttpAnswer = { status: number; headers: Headers; text: string }

/** One try: the request, the headers and the whole body, within the time. */
export async function exchange(
  runtime: Runtime,
  request: HttpRequest,
  limits: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<HttpAnswer> {
  const { timeoutMs, signal } = limits
  throwIfAborted(signal)
  const ending = new AbortController()
  const end = (): void => ending.abort()
  const cancel = runtime.after(timeoutMs, end)
  signal?.addEventListener('abort', end, { once: true })
  try {
    return await fetchWhole(runtime, request, ending.signal)
  } catch (error) {
    if (signal?.aborted) throw aborted(signal)
    if (error instanceof ApiError) throw error
    if (ending.signal.aborted) throw timedOut(timeoutMs, error)
    throw networkFailed(request, error)
  } finally {
    cancel()
    signal?.removeEventListener('abort', end)
  }
}

async function fetchWhole(
  runtime: Runtime,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { method, url, headers, body } = request
  const answer = await runtime.fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body }),
    signal,
    redirect: 'manual',
    // This client uses neither a browser's cookies as credentials nor cached answers.
    credentials: 'omit',
    cache: 'no-store',
  })
  const { status } = answer
  if (answer.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await answer.body?.cancel()
    throw redirected(status, answer.headers.get('location'))
  }
  return { status, headers: answer.headers, text: await readText(answer, signal) }
}

async function readText(answer: Response, signal: AbortSignal): Promise<string> {
  const reader = answer.body?.getReader()
  if (reader === undefined) return ''
  // An answer that fetch has handed over already may go on for ever whatever its signal says.
  const end = (): void => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', end, { once: true })
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = 0; ;) {
      const { done, value } = await reader.read()
      if (signal.aborted)
        throw new BaseError('The answer is incomplete.', { code: 'answer_incomplete' })
      if (done) return text + decoder.decode()
      bytes += value.length
      if (bytes > MAX_ANSWER_BYTES) throw tooLarge(answer.status)
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** Whether the request certainly did not reach the server. */
export function wasNotSent(error: ApiError): boolean {
  const cause = error.cause as { code?: unknown; cause?: { code?: unknown } } | undefined
  return NOT_SENT.has(String(cause?.cause?.code ?? cause?.code))
}

/** Node tells; a browser does not, and then nothing is certain. */
const NOT_SENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'])

function networkFailed(request: HttpRequest, cause: unknown): ApiError {
  const { origin } = new URL(request.url)
  const reason = (cause as { cause?: { code?: unknown } } | undefined)?.cause?.code
  const why = typeof reason === 'string' ? ` (${reason})` : ''
  return new ApiError(
    `The connection to ${origin} failed${why}. Check the address, and that the server runs.`,
    { code: 'network_failed', retryable: true, cause },
  )
}

function redirected(status: number, location: string | null): ApiError {
  const where = location === null ? 'another address' : location.slice(0, 200)
  const message = `The server redirects to ${where}. Correct the base address.`
  return new ApiError(message, { code: 'redirected', status: status || undefined })
}

function tooLarge(status: number): ApiError {
  return new ApiError(
    `The answer has more than ${MAX_ANSWER_BYTES} bytes, which is the limit. Request fewer rows.`,
    {
      code: 'answer_too_large',
      status,
    },
  )
}
