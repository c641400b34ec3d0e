import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'
import { Registry } from 'prom-client'
import { Type } from 'typebox'

import { defineEndpoint, type Endpoint } from '../../../src/api/admission/endpoint.ts'
import type { Caller } from '../../../src/domain/access.ts'
import { RequestError } from '../../../src/wire/errors.ts'
import { startApi, testCaller, type Api } from '../../fixtures/api/api.ts'
import { until } from '../../fixtures/until.ts'

const CALLERS: Readonly<Record<string, Caller>> = {
  flood: { ...testCaller, userId: 1, scopes: ['payments:write'] },
  calm: { ...testCaller, userId: 2, scopes: ['payments:write'] },
  admin: { ...testCaller, userId: 3, scopes: ['admin'] },
}

/** Over real sockets: nothing of this is seen where a request is handed in directly. */
describe('the door', () => {
  let api: Api
  let registry: Registry
  let url: string
  let held: PromiseWithResolvers<void>
  let started: number
  let authenticated: number
  const ended: AbortController[] = []

  beforeEach(async () => {
    held = Promise.withResolvers<void>()
    started = 0
    authenticated = 0
    registry = new Registry()
    api = await startApi({
      endpoints: [slow('POST'), slow('GET'), greet()],
      hooks: {
        async authenticate(headers) {
          authenticated += 1
          const caller = CALLERS[String(headers['x-api-key'])]
          if (caller === undefined) throw new RequestError('unauthorized', 'Send a good key.')
          return caller
        },
      },
      server: { registry, lanes: { writes: 2, strangers: 2, outside: 2 } },
    })
    url = await api.server.listen({ host: '127.0.0.1', port: 0 })
    for (const key of ['flood', 'calm', 'admin']) await ask('/api/quick', { key })
  })

  afterEach(async () => {
    held.resolve()
    for (const one of ended.splice(0)) one.abort()
    await api.close()
  })

  /** Waits for the test where its path says so. */
  const slow = (method: 'GET' | 'POST'): Endpoint =>
    defineEndpoint({
      route: method === 'GET' ? 'GET /api/quick' : 'POST /api/slow',
      operationId: `wait${method}`,
      summary: 'Waits',
      tag: 'Wait',
      access: 'payments:write',
      ...(method === 'POST' && { body: Type.Object({ text: Type.Optional(Type.String()) }) }),
      answer: Type.Object({}),
      async handle() {
        started += 1
        if (method === 'POST') await held.promise
        return {}
      },
    })

  const greet = (): Endpoint =>
    defineEndpoint({
      route: 'POST /api/greeting',
      operationId: 'greet',
      summary: 'Greets',
      tag: 'Wait',
      access: 'public',
      body: Type.Object({ again: Type.Optional(Type.Boolean()) }),
      answer: Type.Object({}),
      async handle({ body }) {
        if (body.again) throw new RequestError('rate_limited', 'Wait for a minute.')
        return {}
      },
    })

  const ask = async (
    path: string,
    { key, body }: { key?: string; body?: string } = {},
  ): Promise<Response> => {
    const client = new AbortController()
    ended.push(client)
    return fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(key && { 'x-api-key': key }), 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
      signal: client.signal,
    })
  }

  /** As many POSTs that do not end as the door takes from one caller, and more. */
  const flood = async (count: number): Promise<Array<Promise<Response>>> => {
    const sent = Array.from({ length: count }, async () =>
      ask('/api/slow', { key: 'flood', body: '{}' }),
    )
    for (const one of sent) one.catch(() => undefined)
    await until(async () => started > 3 && (await waiting('writes')) > 0)
    return sent
  }

  const valueOf = async (name: string, labels: Record<string, string>): Promise<number> => {
    const { values } = await registry.getSingleMetric(name)!.get()
    const wanted = Object.entries(labels)
    return (
      values.find((one) =>
        wanted.every(([label, value]) => (one.labels as Record<string, unknown>)[label] === value),
      )?.value ?? NaN
    )
  }
  const waiting = (lane: string) => valueOf('quittance_requests', { lane, state: 'waiting' })
  const working = (lane: string) => valueOf('quittance_requests', { lane, state: 'working' })

  it('refuses at once what would wait too long, and says that nothing was done', async () => {
    const sent = await flood(150)
    const asked = authenticated
    const answer = await ask('/api/slow', { key: 'flood', body: '{"text":' })
    expect(answer.status).to.equal(503)
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 10)
    expect(answer.headers.get('request-not-processed')).to.equal('true')
    expect(await answer.json()).to.include({ success: false, code: 'overloaded' })
    // Neither who asks nor what was sent has been looked at.
    expect(authenticated).to.equal(asked)
    held.resolve()
    const statuses = await Promise.all(sent.map(async (one) => (await one).status))
    expect(new Set(statuses)).to.deep.equal(new Set([200, 503]))
    expect(await valueOf('quittance_overload_refusals_total', { lane: 'writes' })).to.equal(
      statuses.filter((status) => status === 503).length + 1,
    )
    expect(api.log()).not.to.match(/"status":503/)
  })

  it('answers reads, health, metrics and administrators under a flood of POSTs', async () => {
    const flooding = await flood(100)
    expect((await ask('/api/quick', { key: 'flood' })).status).to.equal(200)
    expect((await ask('/healthz')).status).to.equal(200)
    expect((await ask('/readyz')).status).to.equal(200)
    expect((await ask('/metrics')).status).to.equal(200)
    const before = started
    const work = ask('/api/slow', { key: 'admin', body: '{}' })
    await until(async () => started > before)
    held.resolve()
    expect((await work).status).to.equal(200)
    await Promise.all(flooding)
  })

  it('has a place for another caller while one floods', async () => {
    const flooding = await flood(100)
    const before = started
    const work = ask('/api/slow', { key: 'calm', body: '{}' })
    await until(async () => started > before)
    held.resolve()
    expect((await work).status).to.equal(200)
    await Promise.all(flooding)
  })

  it('takes strangers with made-up credentials for one caller, and apart from others', async () => {
    const strangers = Array.from({ length: 50 }, async (_, place) =>
      ask('/api/slow', { key: `made-up-${place}`, body: '{}' }),
    )
    expect((await ask('/api/quick', { key: 'calm' })).status).to.equal(200)
    for (const one of await Promise.all(strangers)) expect(one.status).to.be.oneOf([401, 503])
    await until(async () => (await working('strangers')) === 0)
  })

  it('takes a credential that ended for a stranger again', async () => {
    const { flood: caller } = CALLERS
    const callers = CALLERS as Record<string, Caller>
    delete callers['flood']
    try {
      expect((await ask('/api/quick', { key: 'flood' })).status).to.equal(401)
      expect((await ask('/api/quick', { key: 'flood' })).status).to.equal(401)
    } finally {
      callers['flood'] = caller!
    }
    await until(async () => (await working('strangers')) + (await working('reads')) === 0)
  })

  it('gets back every place, however a client goes', async () => {
    const { hostname, port } = new URL(url)
    const lines = (key: string, path: string, length: number) =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n{`
    const sockets = [
      // In the midst of its body, in the midst of the work, while it waits, and with no credential.
      lines('calm', '/api/slow', 100),
      `${lines('calm', '/api/slow', 2)}}`,
      ...Array.from({ length: 5 }, () => `${lines('flood', '/api/slow', 2)}}`),
      lines('nobody', '/api/greeting', 100),
    ].map((text) => {
      const socket = connect(Number(port), hostname).once('error', () => undefined)
      socket.write(text)
      return socket
    })
    await until(async () => (await working('writes')) === 2 && (await waiting('writes')) > 0)
    for (const socket of sockets) socket.destroy()
    await sleep(50)
    held.resolve()
    for (const lane of ['writes', 'strangers', 'outside']) {
      await until(async () => (await working(lane)) === 0 && (await waiting(lane)) === 0)
    }
    expect((await ask('/api/slow', { key: 'calm', body: '{}' })).status).to.equal(200)
  })

  it('leaves others their places, and time, while a flood is told to wait', async () => {
    const before = performance.now()
    const flooding = Array.from({ length: 20 }, async () => {
      const { status } = await ask('/api/greeting', { body: '{"again":true}' })
      return { status, ms: performance.now() - before }
    })
    await sleep(50)
    expect(await working('outside')).to.equal(0)
    for (const { status, ms } of await Promise.all(flooding)) {
      expect(status).to.equal(429)
      expect(ms).to.be.at.least(95)
    }
  })

  it('gives no place to a stranger whose body does not come', async () => {
    const { hostname, port } = new URL(url)
    const head = 'POST /api/greeting HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
    const sockets = Array.from({ length: 20 }, () =>
      connect(Number(port), hostname).once('error', () => undefined),
    )
    for (const socket of sockets) socket.write(`${head}content-length: 100\r\n\r\n{`)
    await sleep(50)
    expect((await ask('/api/greeting', { body: '{}' })).status).to.equal(200)
    for (const socket of sockets) socket.destroy()
  })
})
