import { expect } from 'chai'

import { applyView } from '../../src/rails/charge-rail.ts'
import { createSimulatedCard, signWebhook } from '../../src/rails/simulators/card.ts'
import {
  serveSimulated,
  type Simulated,
  type SimulatorServer,
} from '../../src/rails/simulators/serve.ts'
import type { Db } from '../../src/store/database/database.ts'
import { findCharge } from '../../src/store/rails/charges.ts'
import { countRows } from '../fixtures/api/rails-api.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const SECRETS = { key: 'sk_test_1', webhookSecret: 'whsec_1' }
const PAYMENT = {
  gateway_id: 1,
  amount: 20.5,
  currency: 'USD',
  description: 'Two books',
  metadata: { order_id: '7', customer_name: 'Ada' },
}

type Sent = { headers: Record<string, string>; body: string }

describe('card payments', () => {
  let db: Db
  let clock: TestClock
  let card: Simulated
  let server: SimulatorServer
  let bench: GatewayBench
  let asked: string[]
  let sent: Sent[]
  let between: (card: Simulated) => Simulated

  beforeEach(async () => {
    db = (await freshDatabase()).db
    clock = createTestClock()
    asked = []
    sent = []
    between = (card) => card
    card = createSimulatedCard({
      ...SECRETS,
      now: () => clock.now().getTime(),
      dayMs: 24 * 3_600_000,
      webhooks: { tell: () => undefined, send: (message) => void sent.push(message) },
    })
    server = await serveSimulated(async (request) => {
      asked.push(`${request.method} ${request.path}`)
      return between(card)(request)
    })
    const party = { ...SECRETS, url: server.url }
    bench = await startGateways({ db, clock, parties: { usual: { card: party } } })
  })

  afterEach(async () => server.close())

  const create = async (change: object = {}, key?: string) =>
    bench.api.post('/api/payments', { ...PAYMENT, ...change }, key === undefined ? {} : { key })

  /** What the payer's browser does. */
  const confirm = async (body: Record<string, unknown>, method = 'pm_card_visa') => {
    const form = { client_secret: String(body['client_secret']), payment_method: method }
    const path = `/v1/payment_intents/${String(body['payment_intent_id'])}/confirm`
    return fetch(server.url + path, { method: 'POST', body: new URLSearchParams(form) })
  }

  const status = async (body: Record<string, unknown>) =>
    (await bench.api.get(`/api/payments/${String(body['transaction_id'])}/status`)).body

  const refund = async (body: Record<string, unknown>, key?: string) =>
    bench.api.post(
      `/api/payments/${String(body['transaction_id'])}/refund`,
      undefined,
      key === undefined ? {} : { key },
    )

  const receive = async (message: Sent) =>
    bench.door.receive(1, { headers: message.headers, body: Buffer.from(message.body) })

  const posts = (path: string) => asked.filter((one) => one === `POST /v1/${path}`)

  it('answers with what the payer needs, and is completed when the gateway says so', async () => {
    const { status: code, body } = await create({}, 'key-1')
    expect(code).to.equal(201)
    expect(body['payment_intent_id']).to.match(/^pi_/)
    expect(body['client_secret']).to.include('_secret_')
    expect(await status(body)).to.include({ status: 'pending', received_decimal: null })
    await confirm(body)
    for (const message of sent) expect(await receive(message)).to.equal('received')
    await bench.pass()
    const told = await status(body)
    expect(told).to.include({ status: 'completed', gateway_reference: body['payment_intent_id'] })
    expect(told['amount_decimal']).to.equal('20.5')
  })

  it('completes without any webhook', async () => {
    const { body } = await create()
    await confirm(body)
    await bench.pass(2)
    expect(await status(body)).to.include({ status: 'completed' })
  })

  it('tells why a card was declined, and lets the payer try again', async () => {
    const { body } = await create()
    expect((await confirm(body, 'pm_card_visa_chargeDeclined')).status).to.equal(402)
    await bench.pass(2)
    const declined = { status: 'pending', error_code: 'generic_decline' }
    expect(await status(body)).to.include(declined)
    await confirm(body)
    await bench.pass(4)
    expect(await status(body)).to.include({ status: 'completed', error_code: null })
  })

  it('waits while the payer has something to do', async () => {
    const { body } = await create()
    await confirm(body, 'pm_card_authenticationRequired')
    await bench.pass(2)
    const waiting = { status: 'pending', gateway_status: 'requires_action' }
    expect(await status(body)).to.include(waiting)
  })

  it('makes one intent for one key, also where the first answer never came', async () => {
    const again = { description: 'silent' }
    bench = await startGateways({
      db,
      clock,
      parties: { usual: { card: { ...SECRETS, url: server.url } } },
    })
    between = (card) => async (request) => {
      const reply = await card(request)
      return reply.isSilent ? { status: 500, json: { error: { type: 'api_error' } } } : reply
    }
    const first = await create(again, 'key-1')
    expect([201, 504]).to.include(first.status)
    const { status: code, body } = await create(again, 'key-1')
    expect(code).to.equal(201)
    expect((await create(again, 'key-1')).body).to.deep.equal(body)
    expect(await countRows(db, 'transactions')).to.equal(1n)
    expect(sent).to.have.length(1)
  })

  it('drives on by itself what the caller has given up', async () => {
    let broken = true
    const down: Simulated = () => ({ status: 503, json: { error: { type: 'api_error' } } })
    // The gateway hears of it each time, and no answer comes back.
    between = (card) => async (request) => {
      const reply = await card(request)
      return broken ? down(request) : reply
    }
    const { status: code, body } = await create({}, 'key-1')
    expect([code, body['code']]).to.deep.equal([504, 'upstream_timeout'])
    broken = false
    await bench.pass(2)
    const { body: known } = await create({}, 'key-1')
    expect(known['payment_intent_id']).to.match(/^pi_/)
    expect(sent).to.have.length(1)
  })

  it('refuses what the gateway itself refuses, and the payment has failed', async () => {
    between = () => () => ({
      status: 400,
      json: { error: { type: 'invalid_request_error', code: 'parameter_invalid' } },
    })
    const { status: code, body } = await create({}, 'key-1')
    expect([code, body['code']]).to.deep.equal([502, 'upstream_failed'])
    expect((await create({}, 'key-1')).status).to.equal(502)
    expect(await countRows(db, 'transactions')).to.equal(1n)
    expect(posts('payment_intents')).to.have.length(1)
  })

  const bad: ReadonlyArray<[string, object, string, string]> = [
    ['an unknown gateway', { gateway_id: 7 }, 'gateway_id', 'unknown_gateway'],
    ['a currency it does not take', { currency: 'ETH' }, 'currency', 'currency_not_taken'],
    ['less than it takes', { amount: '0.49' }, 'amount', 'amount_out_of_range'],
    ['more than it takes', { amount: '1000000' }, 'amount', 'amount_out_of_range'],
    ['half a cent', { amount: '1.005' }, 'amount', 'amount_too_precise'],
    ['metadata that is no text', { metadata: { order_id: 7 } }, 'metadata.order_id', 'type'],
  ]
  for (const [name, change, field, code] of bad) {
    it(`refuses ${name}: nothing is stored and nothing asked`, async () => {
      const { status: answered, body } = await create(change, 'key-1')
      expect(answered).to.equal(400)
      const [detail] = body['details'] as Array<Record<string, unknown>>
      expect(detail).to.include({ field, code })
      expect(await countRows(db, 'transactions')).to.equal(0n)
      expect(await countRows(db, 'idempotent_requests')).to.equal(0n)
      expect(asked).to.deep.equal([])
    })
  }

  const lies: ReadonlyArray<[string, Record<string, unknown>]> = [
    ['another amount', { amount: 1 }],
    ['another currency', { currency: 'eur' }],
    ['the intent of another transaction', { metadata: { quittance_transaction: 'TX1' } }],
    ['another intent', { id: 'pi_other' }],
    ['a payment of less than the whole', { status: 'succeeded', amount_received: 1 }],
    ['a status that nobody knows', { status: 'levitating' }],
  ]
  for (const [name, lie] of lies) {
    it(`believes no reply that tells of ${name}`, async () => {
      const { body } = await create()
      await confirm(body)
      let lying = true
      between = (card) => async (request) => {
        const reply = await card(request)
        return lying ? { ...reply, json: { ...(reply.json as object), ...lie } } : reply
      }
      await bench.pass(3)
      expect(await status(body)).to.include({ status: 'pending' })
      lying = false
      await bench.pass(24)
      expect(await status(body)).to.include({ status: 'completed' })
    })
  }

  it('takes nothing that is said of another intent than its own', async () => {
    const { body } = await create()
    const charge = (await findCharge(db, String(body['transaction_id'])))!
    const other = {
      status: 'completed',
      externalId: 'pi_other',
      gatewayStatus: 'succeeded',
    } as const
    await expectFailure(() => applyView(db, charge, other), 'rail_reply_wrong')
    const own = { status: 'pending', gateway_reference: body['payment_intent_id'] }
    expect(await status(body)).to.include(own)
  })

  const noise: ReadonlyArray<[string, Simulated]> = [
    ['a page of a proxy', () => ({ status: 200, html: '<h1>It works!</h1>' })],
    ['a redirect', () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ['a huge body', () => ({ status: 200, json: { x: 'x'.repeat(1 << 20) } })],
    ['an error of its own', () => ({ status: 500, json: { error: { type: 'api_error' } } })],
    ['a wrong key', () => ({ status: 401, json: { error: { type: 'invalid_request_error' } } })],
  ]
  for (const [name, reply] of noise) {
    it(`concludes nothing from ${name}`, async () => {
      const { body } = await create()
      await confirm(body)
      let broken = true
      between = (card) => (broken ? reply : card)
      await bench.pass(2)
      expect(await status(body)).to.include({ status: 'pending' })
      broken = false
      await bench.pass(24)
      expect(await status(body)).to.include({ status: 'completed' })
    })
  }

  describe('webhooks', () => {
    it('refuses a forgery, a changed body and an old recording', async () => {
      await create()
      const [message] = sent
      const at = Math.floor(clock.now().getTime() / 1000)
      const body = message?.body ?? ''
      const forged = { 'stripe-signature': signWebhook(body, 'whsec_2', at) }
      const old = { 'stripe-signature': signWebhook(body, SECRETS.webhookSecret, at - 301) }
      expect(await receive({ headers: forged, body })).to.equal('refused')
      expect(await receive({ headers: old, body })).to.equal('refused')
      expect(await receive({ headers: {}, body })).to.equal('refused')
      const changed = { headers: message?.headers ?? {}, body: body.replace('created', 'treated') }
      expect(await receive(changed)).to.equal('refused')
      const good = Buffer.from(body)
      const headers = message?.headers ?? {}
      expect(await bench.door.receive(9, { headers, body: good })).to.equal('unknown')
    })

    it('comes to the same whatever their number and order', async () => {
      const { body } = await create()
      await confirm(body)
      for (const message of [...sent.toReversed(), ...sent, ...sent]) {
        await receive(message)
        await bench.pass()
      }
      expect(await status(body)).to.include({ status: 'completed' })
      const { body: detail } = await bench.api.get('/api/gateways')
      expect(detail['gateways']).to.have.length(1)
      expect(await countRows(db, 'transaction_moves')).to.equal(3n)
    })

    it('finds the charge before our own call has returned', async () => {
      let early: string | undefined
      between = (card) => async (request) => {
        const reply = await card(request)
        const [message] = sent
        if (early === undefined && message) early = await receive(message)
        return reply
      }
      const { status: code } = await create()
      expect([code, early]).to.deep.equal([201, 'received'])
      await bench.pass(2)
      expect(posts('payment_intents')).to.have.length(1)
    })

    it('passes over what belongs to others', async () => {
      const at = Math.floor(clock.now().getTime() / 1000)
      const body = JSON.stringify({ data: { object: { object: 'payment_intent', id: 'pi_x' } } })
      const headers = { 'stripe-signature': signWebhook(body, SECRETS.webhookSecret, at) }
      expect(await receive({ headers, body })).to.equal('received')
    })
  })

  describe('disputes', () => {
    it('become chargebacks with a history, and subscriptions are told of each change', async () => {
      const { body } = await create()
      await confirm(body, 'pm_card_createDispute')
      for (const message of sent) await receive(message)
      await bench.pass(96)
      type Told = { history: Array<{ status: string }> }
      const [dispute] = (await status(body))['disputes'] as Told[]
      expect(dispute).to.include({ status: 'lost', reason: 'fraudulent', amount_decimal: '20.5' })
      const history = dispute?.history.map(({ status }) => status)
      expect(history).to.deep.equal(['needs_response', 'under_review', 'lost'])
      expect(await countRows(db, 'notifications')).to.equal(3n)
      expect((await refund(body, 'r-1')).body['error']).to.match(/^The dispute .* is lost/)
      expect(posts('refunds')).to.deep.equal([])
    })
  })

  describe('refunds', () => {
    const paid = async (method?: string) => {
      const { body } = await create()
      await confirm(body, method)
      await bench.pass(2)
      return body
    }

    it('sends the money back once, and then it is refunded', async () => {
      const body = await paid()
      const { status: code, body: asked } = await refund(body, 'r-1')
      expect(code).to.equal(201)
      expect(asked).to.include({ status: 'pending', amount_decimal: '20.5' })
      expect((await refund(body, 'r-1')).body).to.deep.equal(asked)
      await bench.pass(2)
      const told = await status(body)
      expect(told).to.include({ status: 'refunded' })
      const [done] = told['refunds'] as Array<Record<string, unknown>>
      const arrived = { status: 'completed', error_code: null, amount_decimal: '20.5' }
      expect(done).to.include({ refund_id: asked['refund_id'], ...arrived })
      expect(posts('refunds')).to.have.length(1)
    })

    it('has one effect when it is asked for in parallel and again', async () => {
      const body = await paid()
      const answers = await Promise.all([1, 2, 3, 4].map(async (n) => refund(body, `r-${n}`)))
      const codes = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      expect(codes).to.deep.equal([201, 409, 409, 409])
      await bench.pass(2)
      expect((await refund(body)).status).to.equal(409)
      expect(posts('refunds')).to.have.length(1)
    })

    it('is refused for what is not completed, and for what is not yours', async () => {
      const { body } = await create()
      expect((await refund(body)).status).to.equal(409)
      const url = `/api/payments/${String(body['transaction_id'])}/refund`
      const other = await bench.api.post(url, undefined, { as: bench.api.bob })
      expect(other.status).to.equal(404)
      expect(await countRows(db, 'refunds')).to.equal(0n)
    })

    it('fails no refund because the gateway refuses to be asked what came of it', async () => {
      const body = await paid()
      let isLost = true
      let isRefusing = true
      const error = { type: 'invalid_request_error', code: 'parameter_unknown' }
      between = (card) => async (request) => {
        if (request.path !== '/v1/refunds') return card(request)
        if (request.method === 'GET') {
          return isRefusing ? { status: 400, json: { error } } : card(request)
        }
        const reply = await card(request)
        return isLost ? { status: 500, html: 'a proxy' } : reply
      }
      await refund(body)
      await bench.pass()
      isLost = false
      await bench.pass(2)
      const [waiting] = (await status(body))['refunds'] as Array<Record<string, unknown>>
      expect(waiting).to.include({ status: 'pending', error_code: null })
      isRefusing = false
      await bench.pass(4)
      expect(await status(body)).to.include({ status: 'refunded' })
    })

    it('stays completed until a slow refund has arrived', async () => {
      const body = await paid('pm_card_pendingRefund')
      await refund(body)
      await bench.pass(24)
      expect(await status(body)).to.include({ status: 'completed' })
      await bench.pass(72)
      expect(await status(body)).to.include({ status: 'refunded' })
    })
  })
})
