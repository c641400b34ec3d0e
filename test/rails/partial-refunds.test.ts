import { expect } from 'chai'
import { sql } from 'kysely'

import { CHARGE_POLICY } from '../../src/rails/charge-deps.ts'
import { createSimulatedCard } from '../../src/rails/simulators/card.ts'
import {
  serveSimulated,
  type Simulated,
  type SimulatorServer,
} from '../../src/rails/simulators/serve.ts'
import { createSimulatedWallet } from '../../src/rails/simulators/wallet.ts'
import type { Db } from '../../src/store/database/database.ts'
import { insertRefund, settleRefund } from '../../src/store/rails/refunds.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { countRows } from '../fixtures/api/rails-api.ts'
import { createCrashes } from '../fixtures/books/crashes.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createPaymentLife, deathsOf } from '../fixtures/books/payment-life.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'
import { limit } from '../fixtures/store/limits.ts'

const STRIPE = { key: 'sk_test_1', webhookSecret: 'whsec_1' }
const PAYPAL = { clientId: 'id', clientSecret: 'secret', webhookId: 'hook' }
const UNIT = 10n ** 18n
const TWENTY = { amount: '20.50', currency: 'USD', description: 'Two books' }

type Body = Record<string, unknown>

/** One gateway with its payer, and the refunds that it has made. */
type Gateway = {
  id: number
  server: SimulatorServer
  parties: Parameters<typeof startGateways>[0]['parties']
  agree: (created: Body) => Promise<unknown>
  /** What the gateway was asked to send back, by its own id. */
  made: Map<string, number>
  /** Replaced by a test that wants another answer. */
  between: { to: (party: Simulated) => Simulated }
}

const GATEWAYS = { card: startCard, wallet: startWallet }

for (const [name, start] of Object.entries(GATEWAYS)) {
  describe(`refunds of parts through a ${name}`, () => {
    let db: Db
    let clock: TestClock
    let gateway: Gateway
    let bench: GatewayBench

    beforeEach(async () => {
      ;({ db } = await freshDatabase())
      clock = createTestClock()
      gateway = await start(clock)
      bench = await startGateways({ db, clock, parties: gateway.parties! })
    })

    afterEach(async () => gateway.server.close())

    const paid = async (): Promise<string> => {
      const { body } = await bench.api.post('/api/payments', { gateway_id: gateway.id, ...TWENTY })
      await gateway.agree(body)
      await bench.pass(2)
      return String(body['transaction_id'])
    }

    const refund = async (id: string, body?: object) =>
      bench.api.post(`/api/payments/${id}/refund`, body)

    const status = async (id: string) => (await bench.api.get(`/api/payments/${id}/status`)).body

    const total = () => [...gateway.made.values()].reduce((sum, one) => sum + one, 0)

    it('leave the payment completed until all of it is back', async () => {
      const id = await paid()
      expect((await refund(id, { amount: 5 })).body).to.include({ amount_decimal: '5' })
      await bench.pass(2)
      const half = { status: 'completed', refunded_decimal: '5', amount_decimal: '20.5' }
      expect(await status(id)).to.include(half)
      expect((await refund(id, { amount: '0.01' })).status).to.equal(201)
      // The rest.
      expect((await refund(id)).body).to.include({ amount_decimal: '15.49' })
      await bench.pass(2)
      const told = await status(id)
      expect(told).to.include({ status: 'refunded', refunded_decimal: '20.5' })
      const refunds = told['refunds'] as Body[]
      expect(refunds.map((one) => one['amount_decimal'])).to.have.members(['5', '0.01', '15.49'])
      expect([...gateway.made.values()]).to.have.members([500, 1, 1549])
      expect((await refund(id, { amount: 1 })).status).to.equal(409)
    })

    it('are told as events, each once, though the payment stays completed', async () => {
      const id = await paid()
      await refund(id, { amount: 5 })
      await bench.pass(3)
      await refund(id)
      await bench.pass(3)
      const { rows } = await sql<{ type: string; data: Body }>`
        select type, data from events where subject = ${id} order by id`.execute(db)
      const [first, last] = (await status(id))['refunds'] as Body[]
      const own = { eth_transaction_hash: null }
      const part = { ...own, status: 'completed', previous_status: 'completed' }
      expect(rows.slice(-2)).to.deep.equal([
        {
          type: 'transaction.partly_refunded',
          data: { ...part, reason: `refund ${String(first?.['refund_id'])} has arrived` },
        },
        {
          type: 'transaction.refunded',
          data: {
            ...part,
            status: 'refunded',
            reason: `refund ${String(last?.['refund_id'])} has arrived`,
          },
        },
      ])
    })

    it('are never more than the payment, also when they are asked for at one time', async () => {
      const id = await paid()
      const all = Array.from({ length: 5 }, async () => refund(id, { amount: '8.20' }))
      const answers = (await Promise.all(all)).map((answer) => answer.status)
      expect(answers.toSorted((a, b) => a - b)).to.deep.equal([201, 201, 400, 400, 400])
      await bench.pass(2)
      expect(total()).to.equal(1640)
      expect(await status(id)).to.include({ status: 'completed', refunded_decimal: '16.4' })
    })

    it('are refused where the amount is none, with nothing stored and nothing asked', async () => {
      const id = await paid()
      const wrong = ['0', '-1', '20.51', '1.005', '1e1', 'all', null, [], 30]
      for (const amount of wrong) {
        expect((await refund(id, { amount })).status, String(amount)).to.equal(400)
      }
      expect(await countRows(db, 'refunds')).to.equal(0n)
      expect(total()).to.equal(0)
    })

    it('are held by the limits, of one and of a day, also at one time', async () => {
      const kind = { userId: bench.api.alice.id, way: 'refund', currency: 'USD' } as const
      await limit(db, { ...kind, perTransaction: 6n * UNIT, perDay: 10n * UNIT })
      const ids = [await paid(), await paid()]
      const refusalOf = async (amount: string) => {
        const { status, body } = await refund(ids[0]!, { amount })
        return [status, body['code'], (body['details'] as Body[])[0]?.['code']]
      }
      const refused = [400, 'limit_exceeded'] as const
      expect(await refusalOf('6.01')).to.deep.equal([...refused, 'limit_per_transaction'])
      expect((await refund(ids[0]!, { amount: 6 })).status).to.equal(201)
      expect(await refusalOf('4.01')).to.deep.equal([...refused, 'limit_per_day'])
      expect(await countRows(db, 'refunds')).to.equal(1n)
      const all = Array.from({ length: 10 }, async (_, at) => refund(ids[at % 2]!, { amount: 1 }))
      const answers = (await Promise.all(all)).map((answer) => answer.status)
      expect(answers.filter((status) => status === 201)).to.have.length(4)
      expect(answers.filter((status) => status === 400)).to.have.length(6)
      clock.advance(24 * 3_600_000)
      expect((await refund(ids[0]!, { amount: '4.01' })).status).to.equal(201)
    })

    it('may be asked for again where the gateway has refused one', async () => {
      const id = await paid()
      let refusing = true
      gateway.between.to = (party) => async (request) =>
        refusing && request.method === 'POST' && /refund/.test(request.path)
          ? {
              status: 400,
              json: { name: 'INVALID_REQUEST', error: { type: 'invalid_request_error' } },
            }
          : party(request)
      await refund(id, { amount: 20 })
      await bench.pass(2)
      refusing = false
      const [failed] = (await status(id))['refunds'] as Body[]
      expect(failed).to.include({ status: 'failed', amount_decimal: '20' })
      const { rows } = await sql<{ type: string }>`
        select type from events where subject = ${id} order by id desc limit 1`.execute(db)
      expect(rows, 'nothing has arrived').to.deep.equal([{ type: 'transaction.completed' }])
      expect((await refund(id)).body).to.include({ amount_decimal: '20.5' })
      await bench.pass(2)
      expect(await status(id)).to.include({ status: 'refunded', refunded_decimal: '20.5' })
      expect(total()).to.equal(2050)
    })

    it('wait while the gateway tells of another amount', async () => {
      const id = await paid()
      let lying = true
      gateway.between.to = (party) => async (request) => {
        const reply = await party(request)
        if (!lying || request.method !== 'POST' || !/refund/.test(request.path)) return reply
        const amount = name === 'card' ? 499 : { value: '4.99', currency_code: 'USD' }
        return { ...reply, json: { ...(reply.json as object), amount } }
      }
      await refund(id, { amount: 5 })
      await bench.pass()
      expect((await status(id))['refunds']).to.have.nested.property('[0].status', 'pending')
      lying = false
      await bench.pass(24)
      expect(await status(id)).to.include({ status: 'completed', refunded_decimal: '5' })
      expect(total()).to.equal(500)
    })

    it('are made once where a slow worker asks for one beside the next worker', async () => {
      const id = await paid()
      let isFirst = true
      gateway.between.to = (party) => async (request) => {
        if (isFirst && request.method === 'POST' && /refund/.test(request.path)) {
          isFirst = false
          clock.advance(CHARGE_POLICY.leaseMs)
          await bench.pass()
        }
        return party(request)
      }
      await refund(id, { amount: 5 })
      await bench.pass(3)
      expect([...gateway.made.values()]).to.deep.equal([500])
      expect(await status(id)).to.include({ status: 'completed', refunded_decimal: '5' })
    })

    it('are decided once, whatever a late worker has heard', async () => {
      const id = await paid()
      await refund(id, { amount: 5 })
      await bench.pass(2)
      const [done] = (await status(id))['refunds'] as Body[]
      const refundId = String(done?.['refund_id'])
      const late = { refundId, externalId: undefined, errorCode: 'refused' }
      expect(await settleRefund(db, { ...late, state: 'failed' })).to.equal(false)
      expect(await settleRefund(db, { ...late, state: 'completed' })).to.equal(false)
      expect(await status(id)).to.include({ refunded_decimal: '5' })
      expect((await refund(id, { amount: '15.51' })).status).to.equal(400)
    })

    it('are held below the payment by the table itself', async () => {
      const transactionId = await paid()
      const tries = ['REF1', 'REF2', 'REF3'].map(async (refundId) =>
        insertRefund(db, { refundId, transactionId, amount: 1100n }),
      )
      const kept = (await Promise.allSettled(tries)).filter((one) => one.status === 'fulfilled')
      expect(kept).to.have.length(1)
    })
  })

  describe(`refunds of parts through a ${name}, whatever dies`, () => {
    it('arrive once each for three deaths at points of a seed', async () => {
      const { db } = await freshDatabase()
      const clock = createTestClock()
      const crashes = createCrashes()
      const gateway = await start(clock)
      const users = { alice: await makeUser(db), bob: await makeUser(db) }
      const { parties = {} } = gateway
      const bench = await startGateways({ db: crashes.db(db), clock, parties, users })
      const payment = { gateway_id: gateway.id, ...TWENTY }
      const refunds = [{ amount: '5' }, {}]
      const { agree } = gateway
      const life = createPaymentLife({ db, clock, bench, crashes, payment, refunds, agree })
      const points = await life.live([])
      for (let seed = 1; seed <= 5; seed += 1) {
        gateway.made.clear()
        const deaths = deathsOf(`parts/${name}/${seed}`, points)
        await life.live(deaths)
        const made = [...gateway.made.values()]
        expect(made, `death at ${deaths.join()}`).to.have.members([500, 1550])
        await life.expectOnce(`death at ${deaths.join()}`)
      }
      await gateway.server.close()
    })
  })
}

async function startCard(clock: TestClock): Promise<Gateway> {
  const made = new Map<string, number>()
  const between: Gateway['between'] = { to: (party) => party }
  const card = createSimulatedCard({
    ...STRIPE,
    now: () => clock.now().getTime(),
    dayMs: 24 * 3_600_000,
    webhooks: { tell: () => undefined, send: () => undefined },
  })
  const watched: Simulated = async (request) => {
    const reply = await card(request)
    const { id, amount } = (reply.json ?? {}) as { id?: string; amount?: number }
    if (id?.startsWith('re_')) made.set(id, Number(amount))
    return reply
  }
  const server = await serveSimulated((request) => between.to(watched)(request))
  const agree = async (created: Body) => {
    const form = { client_secret: String(created['client_secret']), payment_method: 'pm_card_visa' }
    const path = `/v1/payment_intents/${String(created['payment_intent_id'])}/confirm`
    return fetch(server.url + path, { method: 'POST', body: new URLSearchParams(form) })
  }
  const parties = { usual: { card: { ...STRIPE, url: server.url } } }
  return { id: 1, server, parties, agree, made, between }
}

async function startWallet(clock: TestClock): Promise<Gateway> {
  const made = new Map<string, number>()
  const between: Gateway['between'] = { to: (party) => party }
  const wallet = createSimulatedWallet({
    ...PAYPAL,
    now: () => clock.now().getTime(),
    dayMs: 24 * 3_600_000,
    webhooks: { tell: () => undefined, send: () => undefined },
    url: () => server.url,
  })
  const watched: Simulated = async (request) => {
    const reply = await wallet(request)
    const { id, amount } = (reply.json ?? {}) as { id?: string; amount?: { value: string } }
    const isRefund = request.path.endsWith('/refund') && id !== undefined
    if (isRefund) made.set(id, Math.round(Number(amount?.value) * 100))
    return reply
  }
  const server: SimulatorServer = await serveSimulated((request) => between.to(watched)(request))
  const agree = async (created: Body) =>
    fetch(String(created['approval_url']), {
      method: 'POST',
      body: new URLSearchParams({ answer: 'approve' }),
    })
  const parties = { usual: { wallet_checkout: { ...PAYPAL, url: server.url } } }
  return { id: 3, server, parties, agree, made, between }
}
