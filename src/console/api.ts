/** What the console asks of the platform. Every failure is an `ApiFailure`. */
export type Api = {
  get: <T>(path: string, options?: GetOptions) => Promise<T>
  /** A key that is given again does the same thing once. */
  post: <T>(path: string, body?: unknown, key?: string) => Promise<T>
  /** A response whose body is read as it comes. */
  open: (path: string, options: OpenOptions) => Promise<Response>
}

export type GetOptions = {
  query?: Readonly<Record<string, string | number | undefined>> | undefined
  signal?: AbortSignal | undefined
}

export type OpenOptions = { headers: Record<string, string>; signal: AbortSignal }

/** Calls with the token of the session. `onExpired` is called when the platform refuses it. */
export function createApi(session: { token: string; onExpired: () => void }): Api {
  const call = async (path: string, init: Call): Promise<Response> => {
    const headers = { ...init.headers, authorization: `Bearer ${session.token}` }
    const response = await reach(path, { ...init, headers })
    if (response.ok) return response
    const failure = await readFailure(response)
    if (failure.status === 401) session.onExpired()
    throw failure
  }
  return {
    get: async <T>(path: string, { query, signal }: GetOptions = {}) => {
      const answer = await patiently(
        () => call(path + writeQuery(query), { ...(signal && { signal }) }),
        { signal },
      )
      return (await answer.json()) as T
    },
    post: async <T>(path: string, body: unknown = {}, key: string = crypto.randomUUID()) => {
      const send = () =>
        call(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify(body),
        })
      // An operator who sent too much sees that at once, and not after a minute.
      const answer = await patiently(send, { isWorthIt: ({ status }) => status === 503 })
      return (await answer.json()) as T
    },
    open: (path, { headers, signal }) => call(path, { headers, signal }),
  }
}

type Call = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }

export async function signIn(username: string, password: string): Promise<{ token: string }> {
  const response = await reach('/api/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  if (!response.ok) throw await readFailure(response)
  const answer = (await response.json()) as { access_token: string }
  return { token: answer.access_token }
}

export async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { cache: 'no-store', ...init })
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause
    throw new ApiFailure('The platform is unreachable. Check your connection.', {
      status: 0,
      code: 'unreachable',
      cause,
    })
  }
}

/**
 * Fast scrolling asks often, and a busy server refuses some. A request that has to wait is repeated
 * after that time.
 */
async function patiently(
  call: () => Promise<Response>,
  { signal, isWorthIt = () => true }: Waiting,
): Promise<Response> {
  for (let left = MAX_WAITS; ; left -= 1) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ApiFailure) || !isWorthIt(error)) throw error
      if (error.retryAfterMs === undefined || left === 0) throw error
      await new Promise((later) => setTimeout(later, error.retryAfterMs))
      signal?.throwIfAborted()
    }
  }
}

type Waiting = { signal?: AbortSignal | undefined; isWorthIt?: (failure: ApiFailure) => boolean }

const MAX_WAITS = 3

function writeQuery(query: GetOptions['query'] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as const],
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(Object.fromEntries(given)).toString()}`
}

type FailureBody = { error?: string; code?: string; request_id?: string; details?: FieldProblem[] }
export type FieldProblem = { field: string; message: string }

export async function readFailure(response: Response): Promise<ApiFailure> {
  const body = (await response.json().catch(() => ({}))) as FailureBody
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ApiFailure(body.error ?? `The platform answered with status ${response.status}.`, {
    status: response.status,
    code: body.code ?? 'unknown',
    requestId: body.request_id,
    problems: body.details ?? [],
    retryAfterMs: isEarly(response) && after >= 0 ? Math.min(after, MAX_WAIT_S) * 1000 : undefined,
  })
}

/** Whether nothing was done, and the same request may come again. */
function isEarly({ status, headers }: Response): boolean {
  return status === 429 || headers.get('request-not-processed') === 'true'
}

const MAX_WAIT_S = 60

export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly problems: readonly FieldProblem[]
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    facts: {
      status: number
      code: string
      requestId?: string | undefined
      problems?: readonly FieldProblem[]
      retryAfterMs?: number | undefined
      cause?: unknown
    },
  ) {
    super(message, { cause: facts.cause })
    this.status = facts.status
    this.code = facts.code
    this.requestId = facts.requestId
    this.problems = facts.problems ?? []
    this.retryAfterMs = facts.retryAfterMs
  }
}
