import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'

import { createApi } from '../../src/console/api.ts'
import { codeOf } from '../../src/base/errors.ts'

type Refusal = { status: number; headers: Record<string, string> }

describe('what the console asks of the platform', () => {
  let server: Server
  let url: string
  let refusals: Refusal[]
  let keys: unknown[]
  const api = createApi({ token: 'token', onExpired: () => undefined })

  before(async () => {
    server = createServer(({ headers }, response) => {
      keys.push(headers['idempotency-key'])
      const { status, headers: said } = refusals.shift() ?? { status: 200, headers: {} }
      response.writeHead(status, { 'content-type': 'application/json', ...said })
      response.end(JSON.stringify(status === 200 ? { done: true } : { code: 'refused' }))
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  after(() => void server.close())

  beforeEach(() => {
    ;[refusals, keys] = [[], []]
  })

  const busy = { status: 503, headers: { 'retry-after': '0', 'request-not-processed': 'true' } }
  const tooOften = { status: 429, headers: { 'retry-after': '0' } }
  /** As a proxy answers, which does not know what was done. */
  const unknown = { status: 503, headers: { 'retry-after': '0' } }

  it('repeats a read and a post that a busy server did nothing with', async () => {
    refusals = [busy, busy]
    expect(await api.get(url)).to.deep.equal({ done: true })
    refusals = [busy]
    expect(await api.post(url)).to.deep.equal({ done: true })
    expect(keys).to.have.length(5)
    expect(keys[3]).to.equal(keys[4])
  })

  it('repeats a read after 429, and reports a 429 for a post at once', async () => {
    refusals = [tooOften]
    expect(await api.get(url)).to.deep.equal({ done: true })
    refusals = [tooOften]
    expect(await api.post(url).catch(codeOf)).to.equal('refused')
  })

  it('repeats no post that may have been done, and nothing without end', async () => {
    refusals = [unknown]
    expect(await api.post(url).catch(codeOf)).to.equal('refused')
    refusals = Array.from({ length: 9 }, () => busy)
    expect(await api.get(url).catch(codeOf)).to.equal('refused')
    expect(keys).to.have.length(5)
  })
})
