import { expect } from 'chai'

import { createSimulatedCard } from '../../src/rails/simulators/card.ts'
import { serveSimulated, type SimulatorServer } from '../../src/rails/simulators/serve.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createCrashes } from '../fixtures/books/crashes.ts'
import { startGateways } from '../fixtures/books/gateways.ts'
import { createPaymentLife, deathsOf, type PaymentLife } from '../fixtures/books/payment-life.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const SECRETS = { key: 'sk_test_1', webhookSecret: 'whsec_1' }
const payment = { gateway_id: 1, amount: 20.5, currency: 'USD', description: 'Two books' }

/**
 * One payment from the request to its refund, by a program that dies at the points it is given:
 * before or after any statement, and so before or after any call. Each time another one goes on.
 */
describe('a payment, whatever dies', () => {
  let life: PaymentLife
  let server: SimulatorServer
  let made: string[]

  // What the program knows is in the tables alone, so one process stands for all that come after.
  before(async () => {
    const { db } = await freshDatabase()
    const clock = createTestClock()
    const crashes = createCrashes()
    const card = createSimulatedCard({
      ...SECRETS,
      now: () => clock.now().getTime(),
      dayMs: 24 * 3_600_000,
      webhooks: { tell: () => undefined, send: () => undefined },
    })
    server = await serveSimulated(async (request) => {
      const reply = await card(request)
      const { id } = (reply.json ?? {}) as { id?: string }
      if (request.method === 'POST' && id !== undefined) made.push(id)
      return reply
    })
    const parties = { usual: { card: { ...SECRETS, url: server.url } } }
    const users = { alice: await makeUser(db), bob: await makeUser(db) }
    const bench = await startGateways({ db: crashes.db(db), clock, parties, users })
    life = createPaymentLife({ db, clock, bench, crashes, payment, agree: confirm })
  })

  after(async () => server.close())

  const confirm = async (created: Record<string, unknown>) => {
    const secret = String(created['client_secret'])
    const form = { client_secret: secret, payment_method: 'pm_card_visa' }
    const path = `/v1/payment_intents/${String(created['payment_intent_id'])}/confirm`
    const init = { method: 'POST', body: new URLSearchParams(form) }
    expect((await fetch(server.url + path, init)).status).to.equal(200)
  }

  const live = async (points: readonly number[]): Promise<number> => {
    made = []
    const passed = await life.live(points)
    const told = `death at ${points.join()}`
    const intents = new Set(made.filter((id) => id.startsWith('pi_')))
    const refunds = new Set(made.filter((id) => id.startsWith('re_')))
    expect([intents.size, refunds.size], told).to.deep.equal([1, 1])
    await life.expectOnce(told)
    return passed
  }

  it('is charged once and refunded once for a death at every single point', async () => {
    const points = await live([])
    expect(points).to.be.above(90)
    for (let point = 1; point <= points; point += 1) await live([point])
  })

  it('and for three deaths at points of a seed', async () => {
    for (let seed = 1; seed <= 12; seed += 1) await live(deathsOf(`deaths/${seed}`, 80))
  })
})
