import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { expect } from 'chai'
import { Gauge, Registry } from 'prom-client'

import type { GatewayDoor } from '../../src/api/gateway-routes.ts'
import { recent } from '../../src/base/cache.ts'
import { limits } from '../../src/base/limits.ts'
import { startApi, type Api } from '../fixtures/api/api.ts'

describe('routes that anybody may ask', () => {
  let api: Api
  let collected: number
  let checked: number
  let called: number

  const start = async (server: Parameters<typeof startApi>[0]['server'] = {}): Promise<void> => {
    ;[collected, checked, called] = [0, 0, 0]
    const registry = new Registry()
    const gauge = new Gauge({
      name: 'asked_of_the_database',
      help: 'A figure that costs a query',
      registers: [],
      collect: () => void (collected += 1),
    })
    registry.registerMetric(gauge)
    const door: GatewayDoor = {
      async receive(gatewayId) {
        called += 1
        return gatewayId === 1 ? 'refused' : 'unknown'
      },
      checkoutPage: async () => undefined,
    }
    const checks = () => [{ name: 'database', check: async () => void (checked += 1) }]
    api = await startApi({ endpoints: [], server: { registry, door, checks, ...server } })
  }

  afterEach(() => api.close())

  const askAtOnce = (url: string) =>
    Promise.all(Array.from({ length: 20 }, async () => api.server.inject({ url })))

  it('collect the metrics once for all who ask at one time, and once a second', async () => {
    await start()
    for (const { statusCode } of await askAtOnce('/metrics')) expect(statusCode).to.equal(200)
    await askAtOnce('/metrics')
    expect(collected).to.equal(1)
    await new Promise((later) => setTimeout(later, limits.metricsAgeMs + 20))
    await askAtOnce('/metrics')
    expect(collected).to.equal(2)
  })

  it('check once for all who ask at one time whether it can serve', async () => {
    await start()
    await askAtOnce('/readyz')
    expect(checked).to.be.below(20)
    const before = checked
    await askAtOnce('/readyz')
    // Nothing is kept: what is ready now may not be so in a moment.
    expect(checked).to.be.above(before)
  })

  it('tell metrics to administrators only, where the operator has private ones', async () => {
    await start({ hasPrivateMetrics: true })
    const ask = async (headers: Record<string, string>) =>
      (await api.server.inject({ url: '/metrics', headers })).statusCode
    expect(await ask({})).to.equal(401)
    expect(await ask({ 'x-api-key': 'test' })).to.equal(200)
    expect(collected).to.equal(1)
  })

  it('send the documents compressed, and not again to those who have them', async () => {
    await start()
    const url = '/openapi/group-b.json'
    const plain = await api.server.inject({ url })
    const ask = async (headers: Record<string, string>) => api.server.inject({ url, headers })
    const zipped = await ask({ 'accept-encoding': 'gzip, deflate' })
    const small = await ask({ 'accept-encoding': 'gzip, br' })
    expect(zipped.headers).to.include({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    expect(gunzipSync(zipped.rawPayload).toString()).to.equal(plain.body)
    expect(brotliDecompressSync(small.rawPayload).toString()).to.equal(plain.body)
    expect(zipped.rawPayload.length).to.be.below(plain.rawPayload.length / 2)
    expect((await ask({ 'accept-encoding': 'br;q=0' })).headers).not.to.have.property(
      'content-encoding',
    )
    const known = String(zipped.headers['etag'])
    for (const tag of [known, `W/${known}`, `"x", ${known}`, '*']) {
      const again = await ask({ 'accept-encoding': 'gzip', 'if-none-match': tag })
      expect([again.statusCode, again.body, again.headers['etag']]).to.deep.equal([304, '', known])
    }
    const other = await ask({ 'accept-encoding': 'gzip', 'if-none-match': '"another"' })
    expect(other.statusCode).to.equal(200)
  })

  it('count forged webhooks, and log none of them', async () => {
    await start()
    for (const id of ['1', '1', '9']) {
      const { statusCode } = await api.server.inject({
        method: 'POST',
        url: `/webhooks/gateways/${id}`,
        payload: '{"forged":true}',
      })
      expect(statusCode).to.equal(id === '1' ? 400 : 404)
    }
    expect(called).to.equal(3)
    const { body } = await api.server.inject({ url: '/metrics' })
    expect(body).to.match(/^quittance_gateway_webhooks_refused_total\{gateway="1"\} 2$/m)
    expect(body).to.match(/^quittance_gateway_webhooks_refused_total\{gateway="none"\} 1$/m)
    expect(api.log()).not.to.include('/webhooks/')
  })

  it('keep no failure: the next one to ask tries again', async () => {
    await start()
    let tries = 0
    const load = recent({
      load: async () => {
        tries += 1
        if (tries === 1) throw new Error('away')
        return tries
      },
      maxAgeMs: 1e9,
      now: () => 0,
    })
    const first = await Promise.allSettled([load(), load()])
    expect(first.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(await load()).to.equal(2)
    expect(await load()).to.equal(2)
  })
})
