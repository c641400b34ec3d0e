import { createHash } from 'node:crypto'

import type { FastifyInstance, FastifyRequest } from 'fastify'

import type { Caller } from '../../domain/access.ts'
import type { Db } from '../../store/database/database.ts'
import { canonicalJson, stringifyJson } from '../../wire/json.ts'
import type { DoorConfig } from '../door/door.ts'
import { createSendEvents, FOLLOW_TIMEOUT_MS, type SendEvents } from '../event-stream.ts'
import { readBody } from '../server/body.ts'
import { deadlineOf, type RouteLimit } from '../server/deadline.ts'
import { spanOf } from '../server/traces.ts'
import { addCaller, callerNow, callerOf, createAdmit } from './admit.ts'
import { createChecks, invalidRequest } from './checks.ts'
import type { Endpoint, EndpointHooks, EndpointRequest, Post, PostAnswer } from './endpoint.ts'
import { answerTo } from './refusals.ts'

/** Turns the operations into routes. */
export function addEndpoints(
  server: FastifyInstance,
  endpoints: readonly Endpoint[],
  hooks: EndpointHooks,
): void {
  addCaller(server)
  const sendEvents = createSendEvents()
  for (const endpoint of endpoints) addEndpoint(server, endpoint, { ...hooks, sendEvents })
}

function addEndpoint(
  server: FastifyInstance,
  endpoint: Endpoint,
  hooks: EndpointHooks & { sendEvents: SendEvents },
): void {
  const check = createChecks(endpoint)
  const { db } = hooks
  server.route({
    method: endpoint.method,
    url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: {
      lane: laneOf(endpoint),
      ...(endpoint.follow && { deadlineMs: FOLLOW_TIMEOUT_MS }),
    } satisfies DoorConfig & RouteLimit,
    ...(endpoint.bodyBytes !== undefined && { bodyLimit: endpoint.bodyBytes }),
    onRequest: createAdmit(endpoint, hooks),
    handler: async (request, reply) => {
      const { params, query } = request
      const parts = check({ params, query, body: readBody(request.body) })
      const caller = callerOf(request)
      const { follow } = endpoint
      if (follow && caller) {
        const now = () => callerNow(request, endpoint, hooks)
        const media = endpoint.media?.of(parts.query)
        const asked = { follow, media, query: parts.query, caller, callerNow: now, db }
        return hooks.sendEvents({ request, reply, ...asked })
      }
      const asked = { ...parts, caller: caller ?? ANYONE, remoteAddress: request.ip }
      const signal = deadlineOf(request)
      const working =
        endpoint.method === 'POST' && caller
          ? hooks.idempotently({
              endpoint,
              request: asked,
              signal,
              span: spanOf(request),
              ...readIdempotency(request, endpoint, parts.body),
            })
          : answerAtOnce(endpoint, asked, db)
      const answer = await unlessLate(working, signal)
      // The caller was answered meanwhile.
      if (answer === undefined) return reply
      if (answer.replayed) reply.header('idempotent-replayed', 'true')
      return reply.code(answer.status).type(JSON_TYPE).send(answer.body)
    },
  })
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** Without a credential anybody may ask. */
function laneOf({ access, method, bodyBytes }: Endpoint): DoorConfig['lane'] {
  if (access === 'public') return 'outside'
  if (bodyBytes !== undefined) return 'bulk'
  return method === 'GET' ? 'reads' : 'writes'
}

/** Asks in a public operation. No row is theirs, and no scope either. */
const ANYONE: Caller = {
  userId: 0,
  username: '',
  scopes: [],
  dialect: 'flat',
  credential: 'anyone',
}

/** Without a transaction, for what changes nothing or sees to that by itself. */
export async function answerAtOnce(
  endpoint: Endpoint,
  request: EndpointRequest,
  db: Db,
): Promise<PostAnswer> {
  try {
    const prepared = await endpoint.prepare?.({ ...request, db })
    const [result] = await endpoint.handle(db, [{ ...request, prepared }])
    if (result?.ok !== true) throw result?.error
    return { status: endpoint.status, body: stringifyJson(result.value), replayed: false }
  } catch (error) {
    throw answerTo(error, endpoint.refusals)
  }
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

/** The key of a POST, and a fingerprint of what it stands for. */
function readIdempotency(
  request: FastifyRequest,
  endpoint: Endpoint,
  body: unknown,
): Pick<Post, 'key' | 'fingerprint'> {
  const { key, rest } = splitKey(request, endpoint, body)
  const path = request.url.split('?', 1)[0] ?? request.url
  const fingerprint = createHash('sha256')
    .update(`${endpoint.method} ${path}\n${canonicalJson(rest ?? null)}`)
    .digest('hex')
  return { key, fingerprint }
}

/** The key, and the body without it: the same request may carry it here or there. */
function splitKey(
  request: FastifyRequest,
  endpoint: Endpoint,
  body: unknown,
): { key: string | undefined; rest: unknown } {
  if (endpoint.hasSecret) return { key: undefined, rest: body }
  const header = readKey(request.headers['idempotency-key'])
  if (endpoint.group === 'b' || typeof body !== 'object' || body === null) {
    return { key: header, rest: body }
  }
  const { idempotencyKey, ...rest } = body as Record<string, unknown>
  if (typeof idempotencyKey !== 'string') return { key: header, rest }
  if (header !== undefined && header !== idempotencyKey) {
    const message = 'The header and the body have different keys. Send one of them.'
    throw invalidRequest([{ field: 'idempotencyKey', code: 'conflict', message }])
  }
  return { key: idempotencyKey, rest }
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
