import { once } from 'node:events'

import { expect } from 'chai'
import { Type } from 'typebox'

import { defineEndpoint } from '../../src/api/admission/endpoint.ts'
import { limits } from '../../src/base/limits.ts'
import { startApi, testCaller, type Api } from '../fixtures/api/api.ts'

describe('the streams of many users', () => {
  let api: Api
  let url: string
  const clients: AbortController[] = []

  beforeEach(async () => {
    const follow = defineEndpoint({
      route: 'GET /api/stream',
      operationId: 'follow',
      summary: 'Says one thing, and then nothing',
      tag: 'Stream',
      access: 'transactions:read',
      answer: Type.Object({}),
      handle: () => Promise.reject(new TypeError('a stream is followed')),
      async *follow({ signal }) {
        yield ': hello\n\n'
        await once(signal, 'abort')
      },
    })
    api = await startApi({
      endpoints: [follow],
      hooks: {
        async authenticate(headers) {
          const userId = Number(headers['x-api-key'])
          const scopes = userId === 0 ? (['admin'] as const) : (['transactions:read'] as const)
          return { ...testCaller, userId, scopes }
        },
      },
    })
    url = await api.server.listen({ host: '127.0.0.1', port: 0 })
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) client.abort()
    await api.close()
  })

  const open = async (userId: number): Promise<Response> => {
    const client = new AbortController()
    clients.push(client)
    const headers = { 'x-api-key': String(userId) }
    return fetch(`${url}/api/stream`, { headers, signal: client.signal })
  }

  it('do not shut out an administrator, nor do they outlive their clients', async () => {
    const users = Array.from({ length: limits.streams }, (_, place) => 1 + (place % 10))
    const opened = await Promise.all(users.map(open))
    for (const { status } of opened) expect(status).to.equal(200)
    const refused = await open(11)
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '10'])
    expect((await open(0)).status).to.equal(200)
    clients[0]?.abort()
    // The server learns of it in a moment.
    let status = 503
    while (status === 503) ({ status } = await open(11))
    expect(status).to.equal(200)
  })
})
