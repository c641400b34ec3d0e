import type { IncomingHttpHeaders } from 'node:http'

import type { Static, TSchema } from 'typebox'

import type { Caller, Scope } from '../../domain/access.ts'
import type { Db } from '../../store/database/database.ts'
import type { FailureCode, RequestError } from '../../wire/errors.ts'
import type { Group } from '../server/groups.ts'
import type { Outcome } from './together.ts'

/**
 * One operation of one group, told once: routing, checks, documentation and limits are made from
 * it.
 */
export type Endpoint = {
  group: Group
  method: 'GET' | 'POST' | 'DELETE'
  /** In OpenAPI's form: `/api/transactions/{transaction_id}`. */
  path: string
  operationId: string
  summary: string
  /** More than the summary says, in Markdown. */
  description?: string
  /** The heading in the documentation under which the operation stands. */
  tag: string
  /** What the credential must be allowed; `public` needs no credential. */
  access: Scope | 'public'
  /** Fields that are missing here are unknown fields in a request, and are refused. */
  params?: TSchema
  /** The failure for an id that nothing can have, where it differs from a plain not_found. */
  unknown?: () => RequestError
  query?: TSchema
  body?: TSchema
  /** No body at all is then as good as one. */
  isBodyOptional?: true
  status: 200 | 201
  answer: TSchema
  /** Failures of this operation's own, beside those that its form implies. */
  failures?: readonly FailureCode[]
  /**
   * Asks what must be asked of others before the SQL transaction opens, so that no lock and no
   * connection waits for them. Not called where a stored answer will do, and stores nothing.
   */
  prepare?: (request: EndpointRequest) => Promise<unknown>
  handle: (request: EndpointRequest) => Promise<unknown>
  /**
   * `handle` for requests that come at one time and share one SQL transaction, in their order. One
   * that is refused leaves nothing behind; where this rejects, nothing of any of them is stored,
   * and each comes again by itself.
   */
  handleTogether?: (
    requests: readonly EndpointRequest[],
  ) => Promise<ReadonlyArray<Outcome<unknown>>>
  /**
   * Where others must be asked before there is an answer. `handle` then resolves to what it has
   * started, which is stored under the key in its transaction; after the commit this asks them and
   * makes the answer. Where it fails, the same request again comes here and not to `handle`: what
   * was started is driven on, and nothing is started twice.
   */
  complete?: (started: unknown, request: EndpointRequest) => Promise<unknown>
  /** Told when what a POST did is committed, and nobody has to be told when it was a replay. */
  onCommitted?: (answer: never) => void
  /**
   * What goes in or out is a secret, and neither the answer nor a hash of the request is kept: the
   * operation takes no idempotency key.
   */
  hasSecret?: true
  /**
   * Answers with server-sent events instead, until it returns. `answer` is then the form of the
   * data of one event.
   */
  follow?: (request: FollowRequest) => AsyncIterable<string>
}

export type FollowRequest = {
  /** Who asks now, to be asked again and again; undefined once access has ended. */
  callerNow: () => Promise<Caller | undefined>
  db: Db
  /** The `Last-Event-ID` that the client saw before it lost the connection. */
  lastEventId: string | undefined
  /** Aborted when the client has gone. */
  signal: AbortSignal
}

export type EndpointRequest<
  Params = unknown,
  Query = unknown,
  Body = unknown,
  Prepared = unknown,
> = {
  params: Params
  query: Query
  body: Body
  /** In a public operation a caller who may do nothing. */
  caller: Caller
  requestId: string
  /** The caller's address, for limits on those who have no credential yet. */
  remoteAddress: string
  /** For a POST the open transaction that also stores the idempotent answer; else the database. */
  db: Db
  /** What `prepare` resolved to. */
  prepared: Prepared
}

/** What the operations stand on; the composition root puts it together. */
export type EndpointHooks = {
  /** Serves whatever is no POST with a credential. */
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
 * Counts the request. Resolves to the headers that tell what is left, and rejects with RequestError
 * `rate_limited`, whose headers include Retry-After. Without a caller the operation is public.
 */
export type LimitRate = (options: {
  caller?: Caller
  endpoint: Endpoint
  remoteAddress: string
}) => Promise<Readonly<Record<string, string>>>

/**
 * Runs the work in one SQL transaction and stores its answer there under the caller's key; without
 * a key the transaction is all. The answer of an earlier run with the same fingerprint comes back
 * as it was. A work that rejects leaves nothing behind.
 */
export type Idempotently = (options: {
  key: string | undefined
  caller: Caller
  endpoint: Endpoint
  /** Aborts when the caller is answered that it took too long: then it must not happen any more. */
  signal: AbortSignal
  /** SHA-256, in hexadecimal digits, of method, path and the body in canonical form. */
  fingerprint: string
  /** Runs before the transaction opens, unless there is an answer already. */
  prepare?: () => Promise<unknown>
  run: (db: Db, prepared?: unknown) => Promise<{ status: number; body: string }>
  /** In place of `run`: those of one endpoint that come at one time may share one transaction. */
  together?: { request: unknown; run: RunTogether } | undefined
  /** Runs after the commit, for each try until it resolves; its answer replaces that of `run`. */
  complete?: ((started: string) => Promise<{ status: number; body: string }>) | undefined
}) => Promise<{ status: number; body: string; replayed: boolean }>

/** What became of each, in their order. */
export type RunTogether = (
  db: Db,
  asked: ReadonlyArray<{ request: unknown; prepared: unknown }>,
) => Promise<ReadonlyArray<Outcome<{ status: number; body: string }>>>

type Checked<T extends TSchema | undefined> = T extends TSchema ? Static<T> : undefined

/** Types the handler by the endpoint's own schemas. */
export function defineEndpoint<
  Answer extends TSchema,
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
  Prepared = undefined,
>(
  endpoint: Omit<
    Endpoint,
    'prepare' | 'handle' | 'handleTogether' | 'params' | 'query' | 'body' | 'answer' | 'onCommitted'
  > & {
    params?: Params
    query?: Query
    body?: Body
    answer: Answer
    prepare?: (
      request: EndpointRequest<Checked<Params>, Checked<Query>, Checked<Body>>,
    ) => Promise<Prepared>
    handle: (
      request: EndpointRequest<Checked<Params>, Checked<Query>, Checked<Body>, Prepared>,
    ) => Promise<Static<Answer>>
    handleTogether?: (
      requests: ReadonlyArray<
        EndpointRequest<Checked<Params>, Checked<Query>, Checked<Body>, Prepared>
      >,
    ) => Promise<ReadonlyArray<Outcome<Static<Answer>>>>
    onCommitted?: (answer: Static<Answer>) => void
  },
): Endpoint {
  // The registration checks each part by its schema before it calls the handler.
  return endpoint as Endpoint
}
