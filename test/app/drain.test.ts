import { once } from 'node:events'
import { request as ask, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'

import { listen } from '../../src/api/server/listen.ts'
import { createStatusServer } from '../../src/api/server/server.ts'
import { createDrain, type Drain } from '../../src/app/drain.ts'
import { createLogger } from '../../src/base/logger.ts'

const logger = createLogger({ level: 'silent' })
/** Longer than Node needs to hand over what is under way. */
const MOMENT_MS = 60

describe('a server that drains', () => {
  let server: FastifyInstance
  let drain: Drain
  let close: () => Promise<void>
  let url: string
  let isStopping: boolean
  let closed: Promise<void> | undefined

  const start = async (options: { drainMs: number; limitMs: number }): Promise<void> => {
    isStopping = false
    closed = undefined
    drain = createDrain({ logger, config: { drainMs: options.drainMs }, limitMs: options.limitMs })
    server = createStatusServer({
      logger,
      registry: new Registry(),
      checks: () => [],
      isStopping: () => isStopping,
      isClosing: () => drain.closing.aborted,
    })
    server.post('/upload', async ({ body }) => ({ body }))
    server.get('/slow', async () => {
      await sleep(4 * MOMENT_MS)
      return { done: true }
    })
    server.get('/endless', () => new Promise(() => undefined))
    server.get('/rows', (_request, reply) => reply.send(Readable.from(rows())))
    server.get('/events', (_request, reply) => reply.send(Readable.from(events(drain.closing))))
    close = drain.closerOf(server)
    url = await listen(server, { host: '127.0.0.1', port: 0, variable: 'PORT' })
  }
  const stop = (): Promise<void> => {
    isStopping = true
    return (closed = close())
  }
  afterEach(async () => closed ?? server.close())

  it('lets an upload, an answer and an export end that were begun', async () => {
    await start({ drainMs: 0, limitMs: 5_000 })
    const upload = ask(`${url}/upload`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', 'content-length': 8 },
    })
    upload.write('half')
    const uploaded = answerTo(upload)
    const slow = answerTo(ask(`${url}/slow`).end())
    const exported = answerTo(ask(`${url}/rows`).end())
    await sleep(MOMENT_MS)
    void stop()
    await sleep(MOMENT_MS)
    upload.end('half')
    expect(await uploaded).to.deep.equal({ status: 200, body: '{"body":"halfhalf"}' })
    expect(await slow).to.deep.equal({ status: 200, body: '{"done":true}' })
    expect(await exported).to.deep.equal({ status: 200, body: [...ROWS].join('') })
  })

  it('ends a stream of events as it ends by itself', async () => {
    await start({ drainMs: 0, limitMs: 5_000 })
    const followed = answerTo(ask(`${url}/events`).end())
    await sleep(MOMENT_MS)
    const stopped = stop()
    expect(await followed).to.deep.equal({ status: 200, body: 'data: first\n\n' })
    const endedAt = performance.now()
    await stopped
    // The client keeps its connection, for another request that will never come.
    expect(performance.now() - endedAt).to.be.below(2_500)
  })

  it('waits for no connection on which nothing was asked, as browsers keep ready', async () => {
    await start({ drainMs: 0, limitMs: 5_000 })
    const silent = connect(Number(new URL(url).port), '127.0.0.1')
    await once(silent, 'connect')
    await sleep(MOMENT_MS)
    const stoppedAt = performance.now()
    await stop()
    expect(performance.now() - stoppedAt).to.be.below(2_500)
    silent.destroy()
  })

  it('serves those who come while balancers turn away, and nobody afterwards', async () => {
    await start({ drainMs: 4 * MOMENT_MS, limitMs: 5_000 })
    const stopped = stop()
    const ready = await fetch(`${url}/readyz`)
    expect([ready.status, ready.headers.get('connection')]).to.deep.equal([503, 'close'])
    const slow = await fetch(`${url}/slow`)
    expect([slow.status, slow.headers.get('connection')]).to.deep.equal([200, 'close'])
    await stopped
    const refused = await fetch(`${url}/slow`).catch((error: Error) => error.cause)
    expect(refused).to.have.property('code', 'ECONNREFUSED')
  })

  it('cuts in the end what does not end', async () => {
    await start({ drainMs: 0, limitMs: 2 * MOMENT_MS })
    const endless = answerTo(ask(`${url}/endless`).end()).catch((error: Error) => error)
    await sleep(MOMENT_MS)
    await stop()
    expect(await endless).to.have.property('code', 'ECONNRESET')
  })
})

const ROWS = Array.from({ length: 5 }, (_, place) => `row ${place}\n`)

async function* rows(): AsyncGenerator<string> {
  for (const row of ROWS) {
    yield row
    await sleep(MOMENT_MS)
  }
}

async function* events(end: AbortSignal): AsyncGenerator<string> {
  yield 'data: first\n\n'
  await sleep(60_000, undefined, { signal: end }).catch(() => undefined)
}

/** Rejects where the answer is cut. */
async function answerTo(
  request: ReturnType<typeof ask>,
): Promise<{ status: number | undefined; body: string }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject)
  })
  let body = ''
  for await (const part of answer) body += String(part)
  return { status: answer.statusCode, body }
}
