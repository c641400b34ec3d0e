import { expect } from 'chai'

import { wantsProblem } from '../../../src/api/server/errors.ts'
import { RequestError } from '../../../src/wire/errors.ts'
import { startApi, type Api } from '../../fixtures/api/api.ts'
import { echoEndpoints } from '../../fixtures/api/endpoints.ts'

describe('a failure', () => {
  let api: Api

  before(async () => {
    api = await startApi({ endpoints: echoEndpoints() })
  })

  after(() => api.close())

  it("has Group B's form", async () => {
    const headers = { 'x-request-id': 'request-0001' }
    const answer = await api.send({ url: '/api/echo?limit=0', headers })
    expect(answer.status).to.equal(400)
    expect(answer.body).to.deep.equal({
      success: false,
      error: 'query.limit: This must be >= 1.',
      code: 'invalid_request',
      request_id: 'request-0001',
      details: [{ field: 'query.limit', code: 'minimum', message: 'This must be >= 1.' }],
    })
    expect(answer.headers).not.to.have.property('api-version')
  })

  it("has Group A's form, with the value that was wrong", async () => {
    const body = { amount: '1', currency: 'usd' }
    const answer = await api.send({ method: 'POST', url: '/v1/echo', body })
    const message = 'Send one of USD, EUR, GBP, ETH.'
    expect(answer.status).to.equal(400)
    expect(answer.body).to.deep.equal({
      code: 2,
      message: `currency: ${message}`,
      errors: [
        {
          error: 'enum',
          message,
          location: 'currency',
          invalidValue: 'usd',
          constraints: { allowedValues: ['USD', 'EUR', 'GBP', 'ETH'] },
        },
      ],
    })
    expect(answer.headers['api-version']).to.equal('v1.2.0')
  })

  it("has Group A's form and version where nothing is", async () => {
    const answer = await api.send({ url: '/v1/nothing' })
    expect(answer.body).to.have.all.keys('code', 'message')
    expect(answer.headers['api-version']).to.equal('v1.2.0')
  })

  for (const [url, code] of [
    ['/api/echo?x=1', 'invalid_request'],
    ['/v1/nothing', -1],
  ] as const) {
    it(`is a problem of RFC 9457 for those who ask, at ${url}`, async () => {
      const headers = { accept: 'application/problem+json', 'x-request-id': 'request-0002' }
      const answer = await api.send({ url, headers })
      expect(answer.headers['content-type']).to.equal('application/problem+json; charset=utf-8')
      expect(answer.body).to.include({
        status: answer.status,
        instance: 'urn:quittance:request:request-0002',
        code,
      })
      expect(answer.body['type']).to.match(/^urn:quittance:problem:[a-z_]+$/)
    })
  }

  it('that nobody foresaw is 500, logged with its stack and told without', async () => {
    const headers = { 'x-request-id': 'request-0003' }
    const answer = await api.send({ url: '/v1/failure', headers })
    expect(answer.status).to.equal(500)
    expect(answer.body['code']).to.equal(-1)
    expect(answer.text).not.to.match(/TypeError|not a function|\.ts|node_modules|at /)
    const line = api
      .log()
      .split('\n')
      .find((one) => one.includes('"level":"error"'))
    expect(line).to.include('"requestId":"request-0003"').and.include('x is not a function')
  })

  it('keeps the headers and the code that it was thrown with', async () => {
    const hooks = {
      idempotently: (): Promise<never> =>
        Promise.reject(
          new RequestError('invalid_request', 'There is not enough money.', { groupA: 1093 }),
        ),
    }
    const own = await startApi({ endpoints: echoEndpoints(), hooks })
    const body = { amount: '1', currency: 'USD' }
    const answer = await own.send({ method: 'POST', url: '/v1/echo', body })
    expect(answer.body).to.deep.equal({ code: 1093, message: 'There is not enough money.' })
    await own.close()
  })
})

describe('wantsProblem', () => {
  const cases: ReadonlyArray<[string | undefined, boolean]> = [
    [undefined, false],
    ['*/*', false],
    ['application/json', false],
    ['application/problem+json', true],
    ['Application/Problem+JSON', false],
    ['application/json, application/problem+json', true],
    ['application/json, application/problem+json;q=0.5', false],
    ['application/problem+json;q=0', false],
    ['application/problem+json;q=x', false],
  ]
  for (const [accept, wanted] of cases) {
    it(`is ${wanted} for ${accept}`, () => {
      expect(wantsProblem(accept)).to.equal(wanted)
    })
  }
})

describe('a server that stops', () => {
  it('serves on, by new connections, until balancers had time to turn away', async () => {
    const server = { isStopping: () => true, isClosing: () => false }
    const api = await startApi({ endpoints: echoEndpoints(), server })
    const answer = await api.send({ url: '/api/echo' })
    expect(answer.status).to.equal(200)
    expect(answer.headers).to.include({ connection: 'close' })
    expect((await api.send({ url: '/readyz' })).status).to.equal(503)
    await api.close()
  })

  it('refuses new work with Retry-After, but still tells its health', async () => {
    const server = { isStopping: () => true }
    const api = await startApi({ endpoints: echoEndpoints(), server })
    const answer = await api.send({ url: '/api/echo' })
    expect(answer.status).to.equal(503)
    expect(answer.headers).to.include({ 'retry-after': '1', connection: 'close' })
    expect(answer.body['code']).to.equal('unavailable')
    expect((await api.send({ url: '/healthz' })).status).to.equal(200)
    expect((await api.send({ url: '/readyz' })).body['status']).to.equal('stopping')
    await api.close()
  })
})
