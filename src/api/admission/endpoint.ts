import type { IncomingHttpHeaders } from 'node:http'

import type { Static, TSchema } from 'typebox'

import type { Caller, Scope } from '../../domain/access.ts'
import type { Db } from '../../store/database/database.ts'
import type { FailureCode, RequestError } from '../../wire/errors.ts'
import { groupOf, type Group } from '../server/headers.ts'
import type { Refusals } from './refusals.ts'
import type { ItemResult } from './together.ts'

/**
 * One operation of one group, defined once: routing, checks, documentation and limits are made from
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
  /** What its handler refuses, by the codes of others, in the words of this operation. */
  refusals?: Refusals
  /**
   * Asks what must be asked of others before the SQL transaction opens, so that no lock and no
   * connection waits for them. Not called where a stored answer will do, and stores nothing.
   */
  prepare?: (request: EndpointRequest & { db: Db }) => Promise<unknown>
  /**
   * Does what a list of requests asks for, in their order. One that is refused leaves nothing
   * behind; where this rejects, nothing of any of them is stored. The database is for a POST the
   * open transaction that also stores the answers.
   */
  handle: (
    db: Db,
    requests: readonly PreparedRequest[],
  ) => Promise<ReadonlyArray<ItemResult<unknown>>>
  /** Requests that come at one time share one SQL transaction; else each list has one. */
  isShared?: true
  /**
   * Where others must be asked before there is an answer. `handle` then resolves to what it has
   * started, which is stored under the key in its transaction; after the commit this asks them and
   * makes the answer. Where it fails, the same request again comes here and not to `handle`: what
   * was started is driven on, and nothing is started twice.
   */
  complete?: (started: unknown, request: EndpointRequest & { db: Db }) => Promise<unknown>
  /** Called when what a POST did is committed, and not where its answer is a stored one. */
  onCommitted?: (value: unknown) => void
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

type Checked<T extends TSchema | undefined> = T extends TSchema ? Static<T> : undefined

type Asked<
  Params extends TSchema | undefined,
  Query extends TSchema | undefined,
  Body extends TSchema | undefined,
> = EndpointRequest<Checked<Params>, Checked<Query>, Checked<Body>>

/** An endpoint as its file writes it down: typed by its own schemas. */
type Definition<
  Answer extends TSchema,
  Params extends TSchema | undefined,
  Query extends TSchema | undefined,
  Body extends TSchema | undefined,
  Prepared,
> = Omit<Endpoint, DefinedHere> & {
  /** Group A is below `/v1`, and `/ping`. */
  route: `${Endpoint['method']} /${string}`
  status?: 201
  params?: Params
  query?: Query
  body?: Body
  answer: Answer
  prepare?: (request: Asked<Params, Query, Body> & { db: Db }) => Promise<Prepared>
  complete?: (
    started: Static<Answer>,
    request: Asked<Params, Query, Body> & { db: Db },
  ) => Promise<Static<Answer>>
  onCommitted?: (value: Static<Answer>) => void
}

type DefinedHere =
  | 'group'
  | 'method'
  | 'path'
  | 'status'
  | 'params'
  | 'query'
  | 'body'
  | 'answer'
  | 'prepare'
  | 'handle'
  | 'isShared'
  | 'complete'
  | 'onCommitted'

/** One whose handler takes one request. */
export function defineEndpoint<
  Answer extends TSchema,
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
  Prepared = undefined,
>(
  definition: Definition<Answer, Params, Query, Body, Prepared> & {
    handle: (
      request: Asked<Params, Query, Body> & { db: Db; prepared: Prepared },
    ) => Promise<Static<Answer>>
  },
): Endpoint {
  const { handle, ...endpoint } = definition
  const { isShared: _, ...alone } = defineSharedEndpoint<Answer, Params, Query, Body, Prepared>({
    ...endpoint,
    async handle(db, requests) {
      const values: Static<Answer>[] = []
      for (const request of requests) values.push(await handle({ ...request, db }))
      return values.map((value) => ({ ok: true, value }))
    },
  })
  return alone
}

/** One whose handler takes a list of requests, which share one SQL transaction. */
export function defineSharedEndpoint<
  Answer extends TSchema,
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Body extends TSchema | undefined = undefined,
  Prepared = undefined,
>(
  definition: Definition<Answer, Params, Query, Body, Prepared> & {
    handle: (
      db: Db,
      requests: ReadonlyArray<Asked<Params, Query, Body> & { prepared: Prepared }>,
    ) => Promise<ReadonlyArray<ItemResult<Static<Answer>>>>
  },
): Endpoint {
  const { route, status = 200, ...parts } = definition
  const [method = '', path = ''] = route.split(' ')
  // The registration checks each part by its schema before it calls the handler.
  return { ...parts, group: groupOf(path), method, path, status, isShared: true } as Endpoint
}
