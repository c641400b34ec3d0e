import type { IncomingHttpHeaders } from 'node:http'

import type { Static, TSchema } from 'typebox'

import type { Result } from '../../base/errors.ts'
import type { Caller, Scope } from '../../domain/access.ts'
import type { Db } from '../../store/database/database.ts'
import type { FailureCode, RequestError } from '../../wire/errors.ts'
import { groupOf, type Group } from '../server/headers.ts'
import type { Refusals } from './refusals.ts'
import type { Move } from './screen.ts'

/** What an operation says of itself. */
type Facts = {
  operationId: string
  summary: string
  /** More than the summary says, in Markdown. */
  description?: string
  /** The heading in the documentation under which the operation stands. */
  tag: string
  /** What the credential must be allowed; `public` needs no credential. */
  access: Scope | 'public'
  /** The failure for an id that nothing can have, where it differs from a plain not_found. */
  unknown?: () => RequestError
  /** No body at all is then as good as one. */
  isBodyOptional?: true
  /** Where a body may be longer than those of all others. */
  bodyBytes?: number
  /** Failures of this operation's own, in addition to those that its form implies. */
  failures?: readonly FailureCode[]
  /** What others refuse, by their codes, in the words of this operation. */
  refusals?: Refusals
  /**
   * What goes in or out is a secret, and neither the answer nor a hash of the request is kept: the
   * operation takes no idempotency key.
   */
  hasSecret?: true
}

/** Answers with a stream instead of a body. `answer` is then the form of one of its parts. */
type Streamed<Query> = {
  /** Yields what is sent, until it returns: server-sent events, unless `media` says otherwise. */
  follow?: (request: FollowRequest<Query>) => AsyncIterable<string>
  media?: { types: readonly string[]; of: (query: Query) => Media }
}

/**
 * One operation of one group, defined once: routing, checks, documentation and limits are made from
 * it.
 */
export type Endpoint = Facts &
  Streamed<unknown> & {
    group: Group
    method: 'GET' | 'POST' | 'DELETE'
    /** In OpenAPI's form: `/api/transactions/{transaction_id}`. */
    path: string
    /** Fields that are missing here are unknown fields in a request, and are refused. */
    params?: TSchema
    query?: TSchema
    body?: TSchema
    status: 200 | 201
    answer: TSchema
    /**
     * Asks what must be asked of others before the SQL transaction opens, so that no lock and no
     * connection waits for them. Not called where a stored answer will do, and stores nothing.
     */
    prepare?: (request: EndpointRequest & { db: Db }) => Promise<unknown>
    /** What it moves, for the screen, which is asked after `prepare`. */
    moves?: (request: PreparedRequest) => readonly Move[]
    /**
     * Does what a list of requests asks for, in their order. One that is refused leaves nothing
     * behind; where this rejects, nothing of any of them is stored. The database is for a POST the
     * open transaction that also stores the answers.
     */
    handle: (
      db: Db,
      requests: readonly PreparedRequest[],
    ) => Promise<ReadonlyArray<Result<unknown>>>
    /** Requests that come at one time share a list and its SQL transaction; else each is alone. */
    isShared: boolean
    /**
     * Where others must be asked before there is an answer. `handle` then resolves to what it has
     * started, which is stored under the key in its transaction; after the commit this asks them
     * and makes the answer. Where it fails, the same request again comes here and not to `handle`:
     * what was started is driven on, and nothing is started twice.
     */
    complete?: (started: unknown, request: EndpointRequest & { db: Db }) => Promise<unknown>
    /** Called when what a POST did is committed, and not where its answer is a stored one. */
    onCommitted?: (value: unknown) => void
  }

/** How a stream is sent that does not consist of events. */
export type Media = { type: string; file: string }

export type FollowRequest<Query = unknown> = {
  query: Query
  caller: Caller
  /** Who asks now, to be asked again and again; undefined once access has ended. */
  callerNow: () => Promise<Caller | undefined>
  db: Db
  /** The `Last-Event-ID` that the client saw before it lost the connection. */
  lastEventId: string | undefined
  /** Aborted when the client has gone. */
  signal: AbortSignal
}

/** What one request asks for, and who asks. */
export type EndpointRequest<Params = unknown, Query = unknown, Body = unknown> = {
  params: Params
  query: Query
  body: Body
  /** In a public operation a caller who may do nothing. */
  caller: Caller
  /** The caller's address, for limits on those who have no credential yet. */
  remoteAddress: string
}

/** With what `prepare` resolved to. */
export type PreparedRequest = EndpointRequest & { prepared: unknown }

/** What the operations need. The composition root puts it together. */
export type EndpointHooks = {
  /** Serves every request except a POST with a credential. */
  db: Db
  authenticate: Authenticate
  limitRate: LimitRate
  idempotently: Idempotently
}

/**
 * Finds out who asks, from the headers alone. Rejects with RequestError `unauthorized`, or
 * `rate_limited` where too many attempts from the address have failed. Runs before the body is
 * read, on each request, so it must be cheap.
 */
export type Authenticate = (headers: IncomingHttpHeaders, remoteAddress: string) => Promise<Caller>

/**
 * Counts the request. Resolves to the headers that say how much is left, and rejects with
 * RequestError `rate_limited`, whose headers include Retry-After. Without a caller the operation is
 * public.
 */
export type LimitRate = (options: {
  caller?: Caller
  endpoint: Endpoint
  remoteAddress: string
}) => Promise<Readonly<Record<string, string>>>

/**
 * Does a POST in one SQL transaction and stores its answer there under the caller's key; without a
 * key the transaction is all. The answer of an earlier one with the same fingerprint comes back as
 * it was. One that rejects leaves nothing behind.
 */
export type Idempotently = (post: Post) => Promise<PostAnswer>

export type Post = {
  endpoint: Endpoint
  request: EndpointRequest
  key: string | undefined
  /** SHA-256, in hexadecimal digits, of method, path and the body in canonical form. */
  fingerprint: string
  /** Aborts when the caller is answered that it took too long: then it must not happen any more. */
  signal: AbortSignal
}

export type PostAnswer = { status: number; body: string; replayed: boolean }

type Definition<Answer, Request extends EndpointRequest, Schemas, Prepared> = Facts &
  Streamed<Request['query']> &
  Schemas & {
    /** Group A is below `/v1`, and `/ping`. */
    route: `${Endpoint['method']} /${string}`
    status?: 201
    prepare?: (request: Request & { db: Db }) => Promise<Prepared>
    moves?: (request: Request & { prepared: Prepared }) => readonly Move[]
    complete?: (started: Answer, request: Request & { db: Db }) => Promise<Answer>
    onCommitted?: (value: Answer) => void
  } & (
    | { handle: (request: Request & { prepared: Prepared } & { db: Db }) => Promise<Answer> }
    | {
        /** Requests that come at one time share one SQL transaction. */
        handleAll: (
          db: Db,
          requests: ReadonlyArray<Request & { prepared: Prepared }>,
        ) => Promise<ReadonlyArray<Result<Answer>>>
      }
  )

type Maybe = TSchema | undefined
type Checked<T extends Maybe> = T extends TSchema ? Static<T> : undefined

/** Types the handler by the endpoint's own schemas; a handler of one request gets a list of one. */
export function defineEndpoint<
  Answer extends TSchema,
  Params extends Maybe = undefined,
  Query extends Maybe = undefined,
  Body extends Maybe = undefined,
  Prepared = undefined,
>(
  definition: Definition<
    Static<Answer>,
    EndpointRequest<Checked<Params>, Checked<Query>, Checked<Body>>,
    { answer: Answer; params?: Params; query?: Query; body?: Body },
    Prepared
  >,
): Endpoint {
  const { route, status = 200, ...parts } = definition
  const [method, path = ''] = route.split(' ')
  const made = { ...parts, method, path, group: groupOf(path), status }
  // The registration checks each part by its schema before it calls the handler.
  return 'handleAll' in made
    ? ({ ...made, handle: made.handleAll, isShared: true } as Endpoint)
    : ({ ...made, handle: oneByOne(made.handle), isShared: false } as Endpoint)
}

function oneByOne<Request, Answer>(handle: (request: Request & { db: Db }) => Promise<Answer>) {
  return async (db: Db, requests: readonly Request[]): Promise<Result<Answer>[]> => {
    const results: Result<Answer>[] = []
    for (const one of requests) results.push({ ok: true, value: await handle({ ...one, db }) })
    return results
  }
}
