import { createHash } from 'node:crypto'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { mayUse, type Caller } from '../../domain/access.ts'
import { RequestError } from '../../wire/errors.ts'
import { canonicalJson, stringifyJson } from '../../wire/json.ts'
import { checkMediaType, readBody } from '../server/body.ts'
import { compileChecks, invalidRequest, type RequestParts } from './checks.ts'
import { deadlineOf, type RouteLimit } from '../server/deadline.ts'
import { doorOf, type DoorConfig } from '../door/door.ts'
import { createSendEvents, FOLLOW_TIMEOUT_MS, type SendEvents } from '../event-stream.ts'
import type { Endpoint, EndpointHooks, EndpointRequest, RunTogether } from './endpoint.ts'

/** Turns the operations into routes. */
export function addEndpoints(
  server: FastifyInstance,
  endpoints: readonly Endpoint[],
  hooks: EndpointHooks,
): void {
  server.decorateRequest(CALLER, undefined)
  const sendEvents = createSendEvents()
  for (const endpoint of endpoints) addEndpoint(server, endpoint, { ...hooks, sendEvents })
}

const CALLER = 'quittanceCaller'

function addEndpoint(
  server: FastifyInstance,
  endpoint: Endpoint,
  hooks: EndpointHooks & { sendEvents: SendEvents },
): void {
  const check = compileChecks(endpoint)
  server.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: {
      lane: laneOf(endpoint),
      ...(endpoint.follow && { deadlineMs: FOLLOW_TIMEOUT_MS }),
    } satisfies DoorConfig & RouteLimit,
    onRequest: async (request, reply) => admit({ request, reply, endpoint, hooks }),
    handler: async (request, reply) => {
      const caller = request.getDecorator<Caller | undefined>(CALLER)
      const { params, query } = request
      const parts = check({ params, query, body: readBody(request.body) })
      if (endpoint.follow && caller) {
        const { follow } = endpoint
        const callerNow = () => callerOf({ request, endpoint, hooks })
        return hooks.sendEvents({ request, reply, follow, caller, callerNow, db: hooks.db })
      }
      const working =
        endpoint.method === 'POST' && caller
          ? runOnce({ request, endpoint, hooks, caller, parts })
          : run({ request, endpoint, hooks, caller, parts })
      const answer = await unlessLate(working, deadlineOf(request))
      // The caller was answered meanwhile.
      if (answer === undefined) return reply
      if (answer.replayed) reply.header('idempotent-replayed', 'true')
      return reply.code(answer.status).type(JSON_TYPE).send(answer.body)
    },
  })
}

/** Undefined where the deadline came before the end, whatever that was. */
async function unlessLate<T>(working: Promise<T>, deadline: AbortSignal): Promise<T | undefined> {
  try {
    const value = await working
    return deadline.aborted ? undefined : value
  } catch (error) {
    if (deadline.aborted) return undefined
    throw error
  }
}

/** Without a credential anybody may ask. */
function laneOf({ access, method }: Endpoint): DoorConfig['lane'] {
  if (access === 'public') return 'outside'
  return method === 'GET' ? 'reads' : 'writes'
}

const JSON_TYPE = 'application/json; charset=utf-8'

type Admission = {
  request: FastifyRequest
  reply: FastifyReply
  endpoint: Endpoint
  hooks: EndpointHooks
}

/** Everything that can be refused by the headers is, before the body is read. */
async function admit({ request, reply, endpoint, hooks }: Admission): Promise<void> {
  const remoteAddress = request.ip
  if (endpoint.access === 'public') {
    reply.headers(await hooks.limitRate({ endpoint, remoteAddress }))
  } else {
    const authenticating = hooks.authenticate(request.headers, remoteAddress)
    const caller = await doorOf(request.server).recognise(request, authenticating)
    reply.headers(await hooks.limitRate({ caller, endpoint, remoteAddress }))
    if (!mayUse(caller, endpoint.access)) throw forbidden(endpoint.access)
    request.setDecorator(CALLER, caller)
  }
  if (endpoint.method !== 'GET') checkMediaType(request.headers)
}

/** Who asks as things stand now, for what goes on; undefined where access has ended meanwhile. */
async function callerOf(asked: Omit<Admission, 'reply'>): Promise<Caller | undefined> {
  const { request, endpoint, hooks } = asked
  try {
    const caller = await hooks.authenticate(request.headers, request.ip)
    return endpoint.access !== 'public' && mayUse(caller, endpoint.access) ? caller : undefined
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

type Work = {
  request: FastifyRequest
  endpoint: Endpoint
  hooks: EndpointHooks
  parts: RequestParts
}

type Answer = { status: number; body: string; replayed: boolean }

async function run(work: Work & { caller: Caller | undefined }): Promise<Answer> {
  const { request, endpoint, hooks, parts, caller = ANYONE } = work
  const asked = { ...parts, ...factsOf(request), caller, db: hooks.db, prepared: undefined }
  const answer = await endpoint.handle({ ...asked, prepared: await endpoint.prepare?.(asked) })
  return { status: endpoint.status, body: stringifyJson(answer), replayed: false }
}

async function runOnce(work: Work & { caller: Caller }): Promise<Answer> {
  const { request, endpoint, hooks, parts, caller } = work
  const { key, body } = idempotencyOf(request, endpoint, parts.body)
  const facts = { ...parts, ...factsOf(request), caller }
  const told: Told = { answer: undefined }
  const signal = deadlineOf(request)
  const answer = await hooks.idempotently({
    key,
    caller,
    endpoint,
    signal,
    fingerprint: fingerprintOf({ method: endpoint.method, path: pathOf(request.url), body }),
    prepare: async () => {
      const prepared = await endpoint.prepare?.({ ...facts, db: hooks.db, prepared: undefined })
      signal.throwIfAborted()
      return prepared
    },
    run: async (db, prepared) => {
      told.answer = await endpoint.handle({ ...facts, db, prepared })
      return { status: endpoint.status, body: stringifyJson(told.answer) }
    },
    together: endpoint.handleTogether && {
      request: { facts, told } satisfies Together,
      run: runTogetherOf(endpoint, endpoint.handleTogether),
    },
    complete: completionOf(endpoint, { ...facts, db: hooks.db, prepared: undefined }),
  })
  if (!answer.replayed) endpoint.onCommitted?.(told.answer as never)
  return answer
}

/** What the handler answered, before it became text. */
type Told = { answer: unknown }

type Together = {
  facts: Omit<EndpointRequest, 'db' | 'prepared'>
  told: Told
}

function runTogetherOf(
  { status }: Endpoint,
  handleTogether: NonNullable<Endpoint['handleTogether']>,
): RunTogether {
  return async (db, asked) => {
    const requests = asked.map((one) => ({ ...one, ...(one.request as Together) }))
    const outcomes = await handleTogether(
      requests.map(({ facts, prepared }) => ({ ...facts, db, prepared })),
    )
    return outcomes.map((outcome, place) => {
      if (!outcome.ok) return outcome
      const told = requests[place]?.told
      if (told) told.answer = outcome.value
      return { ok: true, value: { status, body: stringifyJson(outcome.value) } }
    })
  }
}

function completionOf(endpoint: Endpoint, asked: EndpointRequest) {
  const { complete, status } = endpoint
  if (complete === undefined) return undefined
  return async (started: string) => {
    const answer = await complete(JSON.parse(started), asked)
    return { status, body: stringifyJson(answer) }
  }
}

function factsOf(request: FastifyRequest): { requestId: string; remoteAddress: string } {
  return { requestId: request.id, remoteAddress: request.ip }
}

/** Asks in a public operation. No row is theirs, and no scope either. */
const ANYONE: Caller = {
  userId: 0,
  username: '',
  scopes: [],
  dialect: 'flat',
  credential: 'anyone',
}

/** The key, and the body without it: the same request may carry it here or there. */
function idempotencyOf(
  request: FastifyRequest,
  endpoint: Endpoint,
  body: unknown,
): { key: string | undefined; body: unknown } {
  if (endpoint.hasSecret) return { key: undefined, body }
  const header = readKey(request.headers['idempotency-key'])
  if (endpoint.group === 'b' || typeof body !== 'object' || body === null) {
    return { key: header, body }
  }
  const { idempotencyKey, ...rest } = body as Record<string, unknown>
  if (typeof idempotencyKey !== 'string') return { key: header, body: rest }
  if (header !== undefined && header !== idempotencyKey) {
    const message = 'The header has another key than the body. Send one of them.'
    throw invalidRequest([{ field: 'idempotencyKey', code: 'conflict', message }])
  }
  return { key: idempotencyKey, body: rest }
}

/** Bare, or in quotes as the IETF's draft has it; both stand for the same key. */
function readKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? '' : header
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    const message = 'The key must have 1 to 255 visible ASCII characters and no spaces.'
    throw invalidRequest([{ field: 'header.idempotency-key', code: 'pattern', message }])
  }
  return key
}

function fingerprintOf(options: { method: string; path: string; body: unknown }): string {
  return createHash('sha256')
    .update(`${options.method} ${options.path}\n${canonicalJson(options.body ?? null)}`)
    .digest('hex')
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url
}

function forbidden(scope: string): RequestError {
  return new RequestError('forbidden', `This credential lacks the scope ${scope}.`)
}
