import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'

import type { Endpoint, EndpointHooks } from '../../src/api/endpoint.ts'
import { createServer, type ServerOptions } from '../../src/api/server.ts'
import { createLogger } from '../../src/base/logger.ts'
import type { Caller } from '../../src/domain/access.ts'
import type { Db } from '../../src/store/database.ts'
import { RequestError } from '../../src/wire/errors.ts'
import { parseJson } from '../../src/wire/json.ts'
import { createContract } from './contract.ts'

export type Api = {
  server: FastifyInstance
  /** Every answer is held against the documents before the test sees it. */
  send: (request: ApiRequest) => Promise<ApiAnswer>
  /** Everything that was logged so far. */
  log: () => string
  close: () => Promise<void>
}

export type ApiRequest = {
  method?: 'GET' | 'POST' | 'DELETE' | 'HEAD' | 'OPTIONS' | 'PUT' | 'PATCH'
  url: string
  headers?: Record<string, string>
  /** Text and bytes are sent as they are, anything else as JSON. */
  body?: unknown
}

export type ApiAnswer = {
  status: number
  headers: Record<string, unknown>
  text: string
  /** The answer's JSON, its numbers exact. */
  body: Record<string, unknown>
}

export type ApiOptions = {
  endpoints: readonly Endpoint[]
  hooks?: Partial<EndpointHooks>
  server?: Partial<ServerOptions>
}

/** A server in this process. Parts that are not given let everything pass. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const { endpoints, hooks } = options
  const lines: string[] = []
  const server = createServer({
    logger: createLogger({
      level: 'trace',
      destination: { write: (line) => void lines.push(line) },
    }),
    registry: new Registry(),
    checks: [],
    isStopping: () => false,
    endpoints,
    hooks: { ...openHooks, ...hooks },
    ...options.server,
  })
  await server.ready()
  const expectContract = createContract(endpoints)
  return {
    server,
    log: () => lines.join(''),
    close: () => server.close(),
    async send(request) {
      const { method = 'GET', url } = request
      const payload = payloadOf(request.body)
      const typed = payload === undefined ? {} : { 'content-type': 'application/json' }
      const response = await server.inject({
        method,
        url,
        headers: { 'x-api-key': 'test', ...typed, ...request.headers },
        ...(payload === undefined ? {} : { payload }),
      })
      const { statusCode: status, headers, body: text } = response
      expectContract({ method, url, status, headers, text })
      return { status, headers, text, body: readAnswer(text, headers) }
    },
  }
}

/** A caller who may do everything. */
export const testCaller: Caller = {
  userId: 7,
  username: 'tester',
  scopes: ['admin'],
  dialect: 'flat',
  credential: 'key:7',
}

const openHooks: EndpointHooks = {
  // No test that leaves the database out may reach it.
  db: undefined as unknown as Db,
  async authenticate(headers) {
    if (headers['x-api-key'] === 'test') return testCaller
    throw new RequestError('unauthorized', 'Send a key.')
  },
  async limitRate() {
    return {}
  },
  async idempotently({ prepare, run }) {
    return { ...(await run(openHooks.db, await prepare?.())), replayed: false }
  },
}

function payloadOf(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body
  return JSON.stringify(body)
}

function readAnswer(text: string, headers: Record<string, unknown>): Record<string, unknown> {
  const isJson = String(headers['content-type']).includes('json') && text !== ''
  return isJson ? (parseJson(text) as Record<string, unknown>) : {}
}
