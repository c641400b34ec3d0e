import { readAnswer, requireFields, type AnswerFields } from './answer.ts'
import type { Credentials } from './credentials.ts'
import { ApiError, invalidCall } from './errors.ts'
import { exchange, wasNotSent, type HttpRequest } from './exchange.ts'
import { writeJson } from './json.ts'
import { sleep, throwIfAborted, waitFor, type Runtime } from './runtime.ts'

/** What bounds one call; the defaults are those of the client. */
export type CallOptions = {
  signal?: AbortSignal | undefined
  /** For the whole call, with its repeats and the pauses between. */
  timeoutMs?: number | undefined
  /** For each try. */
  tryTimeoutMs?: number | undefined
}

/** What bounds a call that changes something, and the key by which it happens once. */
export type PostOptions = CallOptions & {
  /** One is made where this is absent. The same key and body happen once, however often sent. */
  idempotencyKey?: string | undefined
}

export type WireCall = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  query?: Record<string, string | number | Readonly<Record<string, string>> | undefined> | undefined
  body?: unknown
  /** What the answer must have to be of use. */
  requires: readonly string[]
  /** A POST that changes nothing is repeated like a GET. */
  isRead?: boolean
  /**
   * Of a POST whose answer is a secret, which no server keeps for a repeat: where it may have been
   * done, it is never done again.
   */
  takesNoKey?: true
}

export type Transport = {
  send: (call: WireCall, options?: PostOptions) => Promise<AnswerFields>
}

/** Whether the server makes a POST happen once for its `Idempotency-Key`. */
export type KeySupport = 'honoured' | 'ignored'

export type TransportOptions = {
  baseUrl: string
  credentials: Credentials
  runtime: Runtime
  timeoutMs: number
  tryTimeoutMs: number
  /** Learned from the server's answers where it is absent. */
  idempotencyKeys: KeySupport | undefined
  /** A cheap read that tells it, for when nothing else has. */
  probe: WireCall
}

/**
 * Sends a call until it is answered, refused, or out of time. A GET is repeated freely; a POST only
 * with its key at a server that honours keys, or where it certainly did not get through: no server
 * of this interface has to know keys, and a second payment is worse than an error.
 */
export function createTransport(options: TransportOptions): Transport {
  const { runtime } = options
  const base = readBaseUrl(options.baseUrl)
  const keys = { support: options.idempotencyKeys }
  const isHonoured = async (state: CallState): Promise<boolean> => {
    if (keys.support === undefined) {
      const { idempotencyKey: _, ...caller } = state.options
      const timeoutMs = state.deadlineAt - runtime.now()
      await send(options.probe, { ...caller, timeoutMs }).catch(() => undefined)
    }
    return keys.support === 'honoured'
  }
  const tryOnce = async (state: CallState): Promise<AnswerFields> => {
    state.credentials = undefined
    const leftMs = state.deadlineAt - runtime.now()
    const credentials = await waitFor(options.credentials.headers(), {
      runtime,
      timeoutMs: leftMs,
      signal: state.options.signal,
    })
    state.credentials = credentials
    const requestId = `${state.id}-${state.tries}`
    const request = { ...state.request, headers: { ...state.request.headers, ...credentials } }
    request.headers['x-request-id'] = requestId
    const timeoutMs = Math.min(
      state.options.tryTimeoutMs ?? options.tryTimeoutMs,
      state.deadlineAt - runtime.now(),
    )
    try {
      const answer = await exchange(runtime, request, { timeoutMs, signal: state.options.signal })
      // A bad answer without the header may come from a proxy, so it says nothing of the server.
      if (answer.headers.has('accept-idempotency-key')) keys.support ??= 'honoured'
      else if (answer.status < 400) keys.support ??= 'ignored'
      const body = readAnswer(answer, runtime.now)
      return requireFields(body, state.call.requires, { status: answer.status, requestId })
    } catch (error) {
      throw error instanceof ApiError ? withRequestId(error, requestId) : error
    }
  }
  const send = async (call: WireCall, caller: PostOptions = {}): Promise<AnswerFields> => {
    throwIfAborted(caller.signal)
    const state = begin({ call, caller, base, options })
    for (;;) {
      state.tries += 1
      try {
        return await tryOnce(state)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        await beforeNextTry({ state, error, isHonoured, ...options })
      }
    }
  }
  return { send }
}

type CallState = {
  call: WireCall
  options: PostOptions
  request: HttpRequest
  id: string
  tries: number
  deadlineAt: number
  credentials: Record<string, string> | undefined
  wasRenewed: boolean
  /** Some try may have been acted on. */
  isUncertain: boolean
}

function begin(parts: {
  call: WireCall
  caller: PostOptions
  base: string
  options: TransportOptions
}): CallState {
  const { call, caller, base, options } = parts
  const { runtime } = options
  const headers: Record<string, string> = { accept: 'application/json' }
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  if (call.takesNoKey && caller.idempotencyKey !== undefined) {
    throw invalidCall(
      'This operation accepts no idempotencyKey, because it cannot be repeated safely. Leave it out.',
    )
  }
  if (call.method === 'POST' && !call.isRead && !call.takesNoKey) {
    const key = caller.idempotencyKey ?? runtime.randomId()
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw invalidCall('idempotencyKey must have 1 to 255 visible ASCII characters.')
    }
    headers['idempotency-key'] = key
  }
  return {
    call,
    options: caller,
    request: {
      method: call.method,
      url: base + call.path + writeQuery(call.query),
      headers,
      // Written once: a repeat under the same key must be the same bytes.
      body: call.body === undefined ? undefined : writeJson(call.body),
    },
    id: runtime.randomId(),
    tries: 0,
    deadlineAt: runtime.now() + (caller.timeoutMs ?? options.timeoutMs),
    credentials: undefined,
    wasRenewed: false,
    isUncertain: false,
  }
}

/** Waits until the next try, or throws the error, with what is known of the call. */
async function beforeNextTry(
  parts: TransportOptions & {
    state: CallState
    error: ApiError
    isHonoured: (state: CallState) => Promise<boolean>
  },
): Promise<void> {
  const { state, error, runtime, credentials } = parts
  const { call } = state
  const isSafe = call.method !== 'POST' || call.isRead === true
  const wasSent = state.credentials !== undefined
  if (wasSent && !isSafe && mayHaveActed(error)) state.isUncertain = true
  const give = (): never => {
    error.tries ||= state.tries
    error.idempotencyKey ??= state.request.headers['idempotency-key']
    error.mayHaveHappened ||= state.isUncertain
    throw error
  }
  // The credential could not be had; that call has had its own repeats.
  if (state.credentials === undefined) return give()
  if (error.status === 401 && !state.wasRenewed && credentials.onRefused(state.credentials)) {
    state.wasRenewed = true
    return undefined
  }
  if (!error.retryable || state.tries >= MAX_TRIES) return give()
  if (!isSafe && mayHaveActed(error)) {
    if (call.takesNoKey || !(await parts.isHonoured(state))) return give()
  }
  const pauseMs = pauseBefore(state.tries, error, runtime)
  // A pause beyond the deadline would only hide what the server said.
  if (runtime.now() + pauseMs >= state.deadlineAt) return give()
  await sleep(runtime, pauseMs, state.options.signal).catch((cause: unknown) => {
    if (!(cause instanceof ApiError)) throw cause
    cause.idempotencyKey = state.request.headers['idempotency-key']
    cause.mayHaveHappened = state.isUncertain
    throw cause
  })
}

const MAX_TRIES = 6
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000

/** At least what the server asks for, and never all callers at the same moment. */
function pauseBefore(tries: number, error: ApiError, runtime: Runtime): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1))
  const jitter = longest * runtime.random()
  return error.retryAfterMs === undefined ? longest / 2 + jitter / 2 : error.retryAfterMs + jitter
}

/** A refusal is certain, and so is a request that did not leave; anything else may be half done. */
function mayHaveActed(error: ApiError): boolean {
  const { status, code } = error
  if (code === 'redirected' || error.wasNotProcessed) return false
  if (code === 'idempotency_in_flight') return true
  if (status === undefined) return !wasNotSent(error)
  return status < 300 || status === 408 || status >= 500
}

function withRequestId(error: ApiError, requestId: string): ApiError {
  return error.requestId === undefined ? Object.assign(error, { requestId }) : error
}

function writeQuery(query: WireCall['query'] = {}): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'object') {
      for (const [key, word] of Object.entries(value)) given.set(`${name}[${key}]`, word)
    } else if (value !== undefined) given.set(name, String(value))
  }
  const text = given.toString()
  return text && `?${text}`
}

/** One part of a path. A dot or two would name another path. */
export function pathPart(value: string): string {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) {
    throw invalidCall(`${JSON.stringify(value)} is not an id.`)
  }
  return encodeURIComponent(value)
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !isHttp || url.username || url.password || url.search || url.hash) {
    throw invalidCall('baseUrl must be an http or https address without credentials or query.')
  }
  return url.href.replace(/\/+$/, '')
}
