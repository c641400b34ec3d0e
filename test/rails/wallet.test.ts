import { expect } from 'chai'

import { codeOf } from '../../src/base/errors.ts'
import {
  serveSimulated,
  type Simulated,
  type SimulatorServer,
} from '../../src/rails/simulators/serve.ts'
import { createSimulatedWallet } from '../../src/rails/simulators/wallet.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'
import { until } from '../fixtures/until.ts'

const SECRETS = { clientId: 'id', clientSecret: 'secret', webhookId: 'hook' }
const PAYMENT = { gateway_id: 3, amount: 20.5, currency: 'EUR', description: 'Two books' }

const NOISE: ReadonlyArray<[string, Simulated]> = [
  ['a page of a proxy', () => ({ status: 200, html: '<h1>It works!</h1>' })],
  ['a redirect', () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
  ['a huge body', () => ({ status: 200, json: { x: 'x'.repeat(1 << 20) } })],
  ['a list', () => ({ status: 200, json: [] })],
  ['an error of its own', () => ({ status: 500, json: { name: 'INTERNAL_SERVER_ERROR' } })],
  ['a wrong secret', () => ({ status: 401, json: { error: 'invalid_client' } })],
]

type Sent = { headers: Record<string, string>; body: string }

describe('wallet payments', () => {
  let clock: TestClock
  let server: SimulatorServer
  let bench: GatewayBench
  let asked: string[]
  let sent: Sent[]
  let between: (wallet: Simulated) => Simulated

  beforeEach(async () => {
    const { db } = await freshDatabase()
    clock = createTestClock()
    asked = []
    sent = []
    between = (wallet) => wallet
    const wallet = createSimulatedWallet({
      ...SECRETS,
      now: () => clock.now().getTime(),
      dayMs: 24 * 3_600_000,
      webhooks: { tell: () => undefined, send: (message) => void sent.push(message) },
      url: () => server.url,
    })
    server = await serveSimulated(async (request) => {
      asked.push(`${request.method} ${request.path}`)
      return between(wallet)(request)
    })
    bench = await startGateways({
      db,
      clock,
      parties: { usual: { wallet_checkout: { ...SECRETS, url: server.url } } },
    })
  })

  afterEach(async () => server.close())

  const create = async (change: object = {}) =>
    (await bench.api.post('/api/payments', { ...PAYMENT, ...change }, { key: 'key-1' })).body

  const answer = async (body: Record<string, unknown>, word: 'approve' | 'cancel') =>
    fetch(String(body['approval_url']), {
      method: 'POST',
      body: new URLSearchParams({ answer: word }),
    })

  const status = async (body: Record<string, unknown>) =>
    (await bench.api.get(`/api/payments/${String(body['transaction_id'])}/status`)).body

  const receive = async (message: Sent) =>
    bench.door.receive(3, { headers: message.headers, body: Buffer.from(message.body) })

  it('sends the payer to approve, captures once, and is completed', async () => {
    const body = await create()
    expect(body['checkout_order_id']).to.match(/^[0-9A-F]{16}$/)
    expect(await create()).to.deep.equal(body)
    await bench.pass()
    expect(await status(body)).to.include({ status: 'pending', gateway_status: 'CREATED' })
    await answer(body, 'approve')
    expect(await receive(sent[0]!)).to.equal('received')
    await bench.pass(3)
    expect(await status(body)).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
    expect(asked.filter((one) => one.endsWith('/capture'))).to.have.length(1)
  })

  it('fails where the payer does not want to', async () => {
    const body = await create()
    await answer(body, 'cancel')
    await bench.pass(2)
    expect(await status(body)).to.include({ status: 'failed', error_code: 'voided' })
  })

  it('does not call a capture money that was declined, or that is still on its way', async () => {
    const declined = await create({ description: 'declined' })
    await answer(declined, 'approve')
    await bench.pass(2)
    expect(await status(declined)).to.include({ status: 'failed', error_code: 'declined' })
  })

  it('fails where an order that was approved is forgotten before it was captured', async () => {
    const body = await create()
    await answer(body, 'approve')
    let isSlow = true
    let isForgotten = false
    const gone = { status: 404, json: { name: 'RESOURCE_NOT_FOUND', details: [] } }
    between = (wallet) => (request) => {
      if (isForgotten && request.path.startsWith('/v2/checkout/orders/')) return gone
      const declined = { issue: 'INSTRUMENT_DECLINED' }
      const json = { name: 'UNPROCESSABLE_ENTITY', details: [declined] }
      return isSlow && request.path.endsWith('/capture') ? { status: 422, json } : wallet(request)
    }
    await bench.pass(2)
    expect(await status(body)).to.include({ status: 'processing' })
    isForgotten = true
    isSlow = false
    await bench.pass(12)
    expect(await status(body)).to.include({ status: 'failed', error_code: 'expired' })
  })

  it('waits for a slow capture, and for a slow refund', async () => {
    const body = await create({ description: 'slow' })
    await answer(body, 'approve')
    await bench.pass(24)
    expect(await status(body)).to.include({ status: 'processing' })
    await bench.pass(72)
    expect(await status(body)).to.include({ status: 'completed' })
    const url = `/api/payments/${String(body['transaction_id'])}/refund`
    expect((await bench.api.post(url, undefined)).status).to.equal(201)
    await bench.pass(24)
    expect(await status(body)).to.include({ status: 'completed' })
    await bench.pass(72)
    expect(await status(body)).to.include({ status: 'refunded' })
  })

  it('refuses webhooks that the gateway does not know as its own', async () => {
    const body = await create()
    await answer(body, 'approve')
    const [message] = sent
    const good = message ?? { headers: {}, body: '' }
    const changed = good.body.replace('APPROVED', 'VOIDED')
    expect(await receive({ ...good, body: changed })).to.equal('refused')
    const { 'paypal-transmission-sig': _, ...unsigned } = good.headers
    expect(await receive({ headers: unsigned, body: good.body })).to.equal('refused')
    expect(await receive({ ...good, body: 'no json' })).to.equal('refused')
    expect(await receive(good)).to.equal('received')
  })

  it('asks the gateway about no webhook that names no payment of ours', async () => {
    const body = await create()
    await answer(body, 'approve')
    const [good] = sent
    const before = asked.length
    const strange = JSON.stringify({
      ...(JSON.parse(good!.body) as object),
      resource: { id: 'ANOTHER', custom_id: `TX${'1'.repeat(20)}` },
    })
    expect(await receive({ ...good!, body: strange })).to.equal('refused')
    expect(asked).to.have.length(before)
    expect(await receive(good!)).to.equal('received')
  })

  it('asks the gateway about no webhook that cannot be its own', async () => {
    const body = await create()
    await answer(body, 'approve')
    const [good] = sent
    const before = asked.length
    const forgeries = [
      { 'paypal-cert-url': 'https://paypal.com.example/certs' },
      { 'paypal-cert-url': 'nowhere' },
      { 'paypal-transmission-time': '2020-01-01T00:00:00Z' },
      { 'paypal-transmission-time': 'now' },
    ]
    for (const forged of forgeries) {
      const headers = { ...good!.headers, ...forged }
      expect(await receive({ ...good!, headers }), JSON.stringify(forged)).to.equal('refused')
    }
    expect(asked).to.have.length(before)
  })

  it('asks the gateway about a few webhooks at once, and has the others sent again', async () => {
    const body = await create()
    await answer(body, 'approve')
    const freed = Promise.withResolvers<void>()
    let inside = 0
    let most = 0
    between = (wallet) => async (request) => {
      inside += 1
      most = Math.max(most, inside)
      await freed.promise
      inside -= 1
      return wallet(request)
    }
    const refused: unknown[] = []
    const all = Array.from({ length: 60 }, async () =>
      receive(sent[0]!).catch((error: unknown) => refused.push(codeOf(error))),
    )
    await until(async () => refused.length === 60 - 36)
    freed.resolve()
    await Promise.all(all)
    expect(refused).to.deep.equal(refused.map(() => 'unavailable'))
    expect(refused).to.have.length(60 - 36)
    expect(most).to.be.at.most(4)
  })

  const lies: ReadonlyArray<[string, (order: Order) => object]> = [
    ['another amount', (order) => unit(order, { amount: { currency_code: 'EUR', value: '1.00' } })],
    [
      'another currency',
      (order) => unit(order, { amount: { currency_code: 'USD', value: '20.50' } }),
    ],
    ['another transaction', (order) => unit(order, { custom_id: 'TX1' })],
    ['another order', (order) => ({ ...order, id: 'OTHER' })],
    ['a payment page elsewhere', (order) => ({ ...order, links: [evil] })],
  ]
  for (const [name, lie] of lies) {
    it(`believes no order that tells of ${name}`, async () => {
      const body = await create()
      await answer(body, 'approve')
      let lying = true
      between = (wallet) => async (request) => {
        const reply = await wallet(request)
        const isOrder = request.path.startsWith('/v2/checkout')
        return lying && isOrder ? { ...reply, json: lie(reply.json as Order) } : reply
      }
      await bench.pass(2)
      expect(await status(body)).to.include({ status: 'pending' })
      lying = false
      await bench.pass(12)
      expect(await status(body)).to.include({ status: 'completed' })
    })
  }

  for (const [name, reply] of NOISE) {
    it(`concludes nothing from ${name}`, async () => {
      const body = await create()
      await answer(body, 'approve')
      let isBroken = true
      between = (wallet) => (isBroken ? reply : wallet)
      await bench.pass(2)
      expect(await status(body)).to.include({ status: 'pending' })
      isBroken = false
      await bench.pass(24)
      expect(await status(body)).to.include({ status: 'completed' })
    })
  }

  it('comes to the same whatever the number and order of its webhooks', async () => {
    const body = await create({ description: 'twice' })
    await answer(body, 'approve')
    await bench.pass(2)
    // Approved and captured, each told twice.
    expect(sent).to.have.length(4)
    for (const message of [...sent.toReversed(), ...sent]) {
      expect(await receive(message)).to.equal('received')
      await bench.pass()
    }
    expect(await status(body)).to.include({ status: 'completed' })
    expect(asked.filter((one) => one.endsWith('/capture'))).to.have.length(1)
  })
})

type Order = { purchase_units: object[]; [field: string]: unknown }

const evil = { rel: 'approve', href: 'https://paypal.com.example/pay' }

function unit(order: Order, change: object): object {
  return { ...order, purchase_units: order.purchase_units.map((one) => ({ ...one, ...change })) }
}
