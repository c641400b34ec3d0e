import { expect } from 'chai'

import type { Idempotently } from '../../../src/api/admission/endpoint.ts'
import { answerAtOnce } from '../../../src/api/admission/endpoints.ts'
import type { Scope } from '../../../src/domain/access.ts'
import { RequestError } from '../../../src/wire/errors.ts'
import { startApi, testCaller, type Api, type ApiRequest } from '../../fixtures/api/api.ts'
import { echoEndpoints } from '../../fixtures/api/endpoints.ts'

const payment: ApiRequest = {
  method: 'POST',
  url: '/api/echo',
  body: '{"amount":1.000000000000000001,"currency":"ETH"}',
}

describe('an endpoint', () => {
  const calls: unknown[] = []
  let api: Api

  before(async () => {
    api = await startApi({ endpoints: echoEndpoints(calls) })
  })

  after(() => api.close())

  beforeEach(() => calls.splice(0))

  it('answers an amount digit for digit, with its twins', async () => {
    const answer = await api.send(payment)
    expect(answer.status).to.equal(201)
    expect(answer.text).to.equal(
      '{"success":true,"amount":1.000000000000000001,' +
        '"amount_decimal":"1.000000000000000001","amount_wei":"1000000000000000001"}',
    )
    expect(answer.headers['content-type']).to.equal('application/json; charset=utf-8')
  })

  it('takes an amount as a string too', async () => {
    const answer = await api.send({ ...payment, body: { amount: '12.50', currency: 'USD' } })
    expect(answer.text).to.equal('{"success":true,"amount":12.5,"amount_decimal":"12.5"}')
  })

  it('refuses decimals that the currency does not have', async () => {
    const answer = await api.send({ ...payment, body: { amount: '12.505', currency: 'USD' } })
    expect(answer.status).to.equal(400)
    expect(answer.body['details']).to.have.nested.property('[0].code', 'amount_too_precise')
  })

  it('gives the query its defaults and clamps the limit', async () => {
    await api.send({ url: '/api/echo' })
    expect(calls).to.deep.equal([{ limit: 50, offset: 0 }])
    for (const limit of ['100', '101', '9'.repeat(99)]) {
      const answer = await api.send({ url: `/api/echo?limit=${limit}&offset=1000000` })
      expect(answer.body).to.deep.equal({ limit: 100, offset: 1_000_000 })
    }
  })

  it('gives the handler what the path says', async () => {
    const answer = await api.send({ url: '/api/echo/TX1' })
    expect(answer.body).to.deep.equal({ id: 'TX1' })
  })

  it('echoes the request id of a client that has one, in the header and the error', async () => {
    const headers = { 'x-request-id': 'client-id_0001' }
    const answer = await api.send({ url: '/api/echo?x=1', headers })
    expect(answer.headers['x-request-id']).to.equal('client-id_0001')
    expect(answer.body['request_id']).to.equal('client-id_0001')
    expect(api.log()).to.include('"requestId":"client-id_0001"')
  })

  for (const id of ['short', 'x'.repeat(65), 'with space', 'a"b\\c{}<script>']) {
    it(`makes an id of its own instead of ${id.slice(0, 20)}`, async () => {
      const answer = await api.send({ url: '/api/echo', headers: { 'x-request-id': id } })
      expect(answer.headers['x-request-id']).to.match(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
    })
  }

  it('answers HEAD as GET without a body', async () => {
    const answer = await api.send({ method: 'HEAD', url: '/api/echo' })
    expect(answer.status).to.equal(200)
    expect(answer.headers['content-length']).to.equal('23')
  })

  it('tells the methods of a path by OPTIONS', async () => {
    const answer = await api.send({ method: 'OPTIONS', url: '/api/echo/TX1' })
    expect(answer.status).to.equal(204)
    expect(answer.headers['allow']).to.equal('GET, HEAD, OPTIONS')
  })

  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    it(`refuses ${method} with the methods that there are`, async () => {
      const answer = await api.send({ method, url: '/api/echo', body: 'no JSON' })
      expect(answer.status).to.equal(405)
      expect(answer.headers['allow']).to.equal('GET, HEAD, POST, OPTIONS')
      expect(answer.body['code']).to.equal('method_not_allowed')
    })
  }

  it('says which methods there are, however long the id in the path is', async () => {
    for (const length of [100, 101, 10_000]) {
      const answer = await api.send({ method: 'DELETE', url: `/api/echo/${'x'.repeat(length)}` })
      expect(answer.status, String(length)).to.equal(405)
      expect(answer.headers['allow']).to.equal('GET, HEAD, OPTIONS')
    }
  })

  for (const url of ['/api/nothing', '/', '/api/echo/', '/API/echo']) {
    it(`finds nothing at ${url.slice(0, 20)}`, async () => {
      const answer = await api.send({ url, headers: { 'x-api-key': '' } })
      expect(answer.status).to.equal(404)
      expect(answer.body['code']).to.equal('not_found')
    })
  }

  it('carries headers that keep an answer from being shown, sniffed or stored', async () => {
    for (const url of ['/api/echo', '/api/nothing', '/api/%zz']) {
      const { headers } = await api.send({ url })
      expect(headers, url).to.include({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      })
    }
  })
})

describe('access to an endpoint', () => {
  it('is refused without a credential before the body is looked at', async () => {
    const api = await startApi({ endpoints: echoEndpoints() })
    const headers = { 'x-api-key': '', 'content-type': 'text/plain' }
    const answer = await api.send({ ...payment, headers, body: 'x'.repeat(70_000) })
    expect(answer.status).to.equal(401)
    expect(answer.headers['www-authenticate']).to.include('Bearer realm="quittance"')
    expect(answer.body['code']).to.equal('unauthorized')
    await api.close()
  })

  it('is refused without the scope, before the body is looked at', async () => {
    const scopes: Scope[] = ['payments:read', 'transfers:write']
    const authenticate = async () => ({ ...testCaller, scopes })
    const api = await startApi({ endpoints: echoEndpoints(), hooks: { authenticate } })
    const answer = await api.send({ ...payment, body: 'no JSON' })
    expect(answer.status).to.equal(403)
    expect(answer.body['code']).to.equal('forbidden')
    expect((await api.send({ url: '/api/echo' })).status).to.equal(200)
    await api.close()
  })

  it('needs no credential where it is public, and gives the handler nobody', async () => {
    const api = await startApi({ endpoints: echoEndpoints() })
    const body = { name: 'x' }
    const headers = { 'x-api-key': '' }
    const answer = await api.send({ method: 'POST', url: '/api/greeting', body, headers })
    expect(answer.body).to.deep.equal({ name: 'x', userId: 0 })
    await api.close()
  })

  it('tells what is left, in answers and in errors', async () => {
    const hooks = { limitRate: async () => ({ ratelimit: '"default";r=999;t=60' }) }
    const api = await startApi({ endpoints: echoEndpoints(), hooks })
    for (const url of ['/api/echo', '/api/echo?x=1']) {
      expect((await api.send({ url })).headers['ratelimit']).to.equal('"default";r=999;t=60')
    }
    await api.close()
  })

  it('is refused for a while when there was too much of it', async () => {
    const headers = { 'retry-after': '7', ratelimit: '"default";r=0;t=7' }
    const refusal = new RequestError('rate_limited', 'Too many requests.', { headers })
    const hooks = { limitRate: () => Promise.reject(refusal) }
    const api = await startApi({ endpoints: echoEndpoints(), hooks })
    const answer = await api.send(payment)
    expect(answer.status).to.equal(429)
    expect(answer.headers).to.include({ 'retry-after': '7', ratelimit: '"default";r=0;t=7' })
    await api.close()
  })
})

describe('idempotency of an endpoint', () => {
  const runs: Array<Parameters<Idempotently>[0]> = []
  const record: Idempotently = async (options) => {
    runs.push(options)
    const replayed = runs.length > 1 && options.key !== undefined
    const { endpoint, request } = options
    return { ...(await answerAtOnce(endpoint, request, undefined as never)), replayed }
  }
  let api: Api

  before(async () => {
    api = await startApi({ endpoints: echoEndpoints(), hooks: { idempotently: record } })
  })

  after(() => api.close())

  beforeEach(() => runs.splice(0))

  it('runs a POST under its key, and says when the answer is a stored one', async () => {
    const headers = { 'idempotency-key': 'order-1' }
    const first = await api.send({ ...payment, headers })
    const second = await api.send({ ...payment, headers })
    expect(first.headers).not.to.have.property('idempotent-replayed')
    expect(second.headers['idempotent-replayed']).to.equal('true')
    expect(runs.map((run) => run.key)).to.deep.equal(['order-1', 'order-1'])
  })

  it('takes a key in quotes for the same as a bare one', async () => {
    await api.send({ ...payment, headers: { 'idempotency-key': '"order-1"' } })
    expect(runs[0]?.key).to.equal('order-1')
  })

  it('fingerprints what the request says, not how it is written', async () => {
    const bodies = [
      '{"amount":1.5,"currency":"ETH"}',
      ' {"currency" : "ETH","amount":1.5}',
      '{"amount":"1.5","currency":"ETH"}',
    ]
    for (const body of bodies) await api.send({ ...payment, body })
    const [first, second, third] = runs.map((run) => run.fingerprint)
    expect(first).to.match(/^[0-9a-f]{64}$/)
    expect(second).to.equal(first)
    expect(third).not.to.equal(first)
  })

  it("reads Group A's key from the body, and leaves it out of the fingerprint", async () => {
    const body = { amount: '1', currency: 'USD', idempotencyKey: 'order-2' }
    await api.send({ ...payment, url: '/v1/echo', body })
    const { idempotencyKey, ...rest } = body
    const headers = { 'idempotency-key': idempotencyKey }
    await api.send({ ...payment, url: '/v1/echo', body: rest, headers })
    expect(runs.map((run) => run.key)).to.deep.equal(['order-2', 'order-2'])
    expect(runs[1]?.fingerprint).to.equal(runs[0]?.fingerprint)
  })

  it('refuses two keys that disagree', async () => {
    const body = { amount: '1', currency: 'USD', idempotencyKey: 'order-2' }
    const headers = { 'idempotency-key': 'order-3' }
    const answer = await api.send({ ...payment, url: '/v1/echo', body, headers })
    expect(answer.status).to.equal(400)
    expect(answer.body).to.have.nested.property('errors[0].location', 'idempotencyKey')
  })

  for (const key of ['', ' ', '""', 'two words', 'é', 'x'.repeat(256)]) {
    it(`refuses the key ${JSON.stringify(key.slice(0, 12))}`, async () => {
      const answer = await api.send({ ...payment, headers: { 'idempotency-key': key } })
      expect(answer.status).to.equal(400)
      expect(answer.body['details']).to.have.nested.property('[0].field', 'header.idempotency-key')
      expect(runs).to.deep.equal([])
    })
  }

  it('does not begin for a request that is not valid', async () => {
    await api.send({ ...payment, body: '{}', headers: { 'idempotency-key': 'order-4' } })
    expect(runs).to.deep.equal([])
  })

  const refusals = [
    ['/api/echo', 'idempotency_key_reused', 422, 'idempotency_key_reused'],
    ['/v1/echo', 'idempotency_key_reused', 409, 1083],
    ['/api/echo', 'idempotency_in_flight', 409, 'idempotency_in_flight'],
    ['/v1/echo', 'idempotency_in_flight', 409, 1083],
  ] as const
  for (const [url, failure, status, code] of refusals) {
    it(`answers ${failure} at ${url} with ${status}`, async () => {
      const refusal = new RequestError(failure, 'No.', { headers: { 'retry-after': '1' } })
      const hooks = { idempotently: () => Promise.reject(refusal) }
      const own = await startApi({ endpoints: echoEndpoints(), hooks })
      const answer = await own.send({ ...payment, url })
      expect(answer.status).to.equal(status)
      expect(answer.body['code']).to.equal(code)
      expect(answer.headers['retry-after']).to.equal('1')
      await own.close()
    })
  }
})
