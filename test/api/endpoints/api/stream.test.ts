import { expect } from 'chai'

import { systemClock } from '../../../../src/base/clock.ts'
import { limits } from '../../../../src/base/limits.ts'
import { createEventParser, type Message } from '../../../../src/console/stream.ts'
import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'
import { until } from '../../../fixtures/until.ts'

describe('GET /api/stream', () => {
  let admin: AdminApi
  let url: string
  let stopping: AbortController
  const clients: AbortController[] = []

  beforeEach(async () => {
    stopping = new AbortController()
    admin = await startAdminApi({ signal: stopping.signal })
    // A stream waits in real time.
    admin.clock.sleep = systemClock.sleep
    url = await admin.api.server.listen({ port: 0, host: '127.0.0.1' })
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) client.abort()
    stopping.abort()
    await admin.api.close()
  })

  const open = async (key: string, headers: Record<string, string> = {}) => {
    const client = new AbortController()
    clients.push(client)
    const { signal } = client
    const response = await fetch(`${url}/api/stream`, {
      headers: { 'x-api-key': key, ...headers },
      signal,
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const parser = createEventParser()
    const messages: Message[] = []
    const next = async (): Promise<Message | undefined> => {
      while (messages.length === 0) {
        const { done, value } = await reader.read()
        if (done) return undefined
        messages.push(...parser.feed(value))
      }
      return messages.shift()
    }
    // A sign of life may come before: on a busy server an event is told a little later.
    const nextEvent = async (): Promise<Message | undefined> => {
      for (;;) {
        const message = await next()
        if (message === undefined || message.data !== '') return message
      }
    }
    return { response, client, next, nextEvent }
  }

  const subjectOf = (message: Message | undefined): unknown =>
    JSON.parse(message?.data || '{}')['transaction_id']

  it('tells an administrator of everybody, and others of themselves', async () => {
    const { db, alice, keys } = admin
    const all = await open(keys.admin)
    const own = await open(keys.alice)
    expect(all.response.headers.get('content-type')).to.include('text/event-stream')
    expect(await all.next()).to.include({ data: '' })
    expect(await own.next()).to.include({ data: '' })
    const { transactionId: theirs } = await makeTransaction(db, { userId: admin.admin.id })
    const { transactionId: hers } = await makeTransaction(db, { userId: alice.id })
    expect(subjectOf(await all.nextEvent())).to.equal(theirs)
    expect(subjectOf(await all.nextEvent())).to.equal(hers)
    expect(subjectOf(await own.nextEvent())).to.equal(hers)
  })

  it('goes on after the event that the client saw last, and loses none', async () => {
    const { db, alice, keys } = admin
    const first = await open(keys.admin)
    await first.next()
    await makeTransaction(db, { userId: alice.id })
    const seen = await first.nextEvent()
    first.client.abort()
    const missed = await makeTransaction(db, { userId: alice.id })
    const second = await open(keys.admin, { 'last-event-id': seen?.id ?? '' })
    expect(subjectOf(await second.nextEvent())).to.equal(missed.transactionId)
  })

  it('refuses an id that is none, and whoever has no credential', async () => {
    const bad = await fetch(`${url}/api/stream`, {
      headers: { 'x-api-key': admin.keys.admin, 'last-event-id': 'yesterday' },
    })
    expect(bad.status).to.equal(400)
    expect((await fetch(`${url}/api/stream`)).status).to.equal(401)
  })

  const ends: Record<string, () => Promise<string>> = {
    'its user is disabled': async () => `users/${admin.alice.id}/disable`,
    'its key is revoked': async () => {
      const { body } = await admin.send({ url: '/api/admin/keys' })
      const keys = body['api_keys'] as Array<{ id: number; name: string }>
      return `keys/${keys.find(({ name }) => name === 'laptop')?.id}/revoke`
    },
  }
  for (const [when, path] of Object.entries(ends)) {
    it(`ends when ${when}, and that of others goes on`, async () => {
      const ended = await open(admin.keys.alice)
      const other = await open(admin.keys.admin)
      for (const stream of [ended, other]) await stream.next()
      const url = `/api/admin/${await path()}`
      expect((await admin.send({ method: 'POST', url, body: {} })).status).to.equal(200)
      expect(await ended.nextEvent()).to.equal(undefined)
      const { transactionId } = await makeTransaction(admin.db, { userId: admin.alice.id })
      expect(subjectOf(await other.nextEvent())).to.equal(transactionId)
    })
  }

  it('is refused to a user who has many open, and not to others', async () => {
    const { keys } = admin
    const streams = []
    for (let n = 0; n < limits.streamsOfUser; n++) streams.push(await open(keys.alice))
    const more = await open(keys.alice)
    expect(more.response.status).to.equal(429)
    expect(more.response.headers.get('retry-after')).to.equal('10')
    expect((await open(keys.admin)).response.status).to.equal(200)
    streams[0]?.client.abort()
    await until(async () => (await open(keys.alice)).response.status === 200)
  })

  it('ends when the program stops, so that the server can close', async () => {
    const stream = await open(admin.keys.admin)
    await stream.next()
    stopping.abort()
    expect(await stream.next()).to.equal(undefined)
  })
})
