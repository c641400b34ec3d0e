import { expect } from 'chai'

import { createSimulatedCard } from '../../src/rails/simulators/card.ts'
import { serveSimulated, type SimulatorServer } from '../../src/rails/simulators/serve.ts'
import type { Db } from '../../src/store/database.ts'
import { makeUser } from '../support/access.ts'
import { createTestClock, type TestClock } from '../support/clock.ts'
import { createCrashes } from '../support/crashes.ts'
import { freshDatabase } from '../support/database.ts'
import { startGateways, type GatewayBench } from '../support/gateways.ts'
import { countRows } from '../support/rails-api.ts'
import { createRandom } from '../support/random.ts'

const SECRETS = { key: 'sk_test_1', webhookSecret: 'whsec_1' }
const PAYMENT = { gateway_id: 1, amount: 20.5, currency: 'USD', description: 'Two books' }

/**
 * One payment from the request to its refund, by a program that dies at the points it is given:
 * before or after any statement, and so before or after any call. Each time another one goes on.
 */
describe('a payment, whatever dies', () => {
  let db: Db
  let clock: TestClock
  let bench: GatewayBench
  let server: SimulatorServer
  let made: string[]
  let lives = 0n
  const crashes = createCrashes()

  // What the program knows is in the tables alone, so one process stands for all that come after.
  before(async () => {
    db = (await freshDatabase()).db
    clock = createTestClock()
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
    const parties = { stripe: { ...SECRETS, url: server.url } }
    const users = { alice: await makeUser(db), bob: await makeUser(db) }
    bench = await startGateways({ db: crashes.db(db), clock, parties, users })
  })

  after(async () => server.close())

  const live = async (points: readonly number[]): Promise<number> => {
    made = []
    lives += 1n
    crashes.arm(points)
    await payAndRefund(String(lives))
    return crashes.passed()
  }

  const untilDone = async <T>(name: string, work: () => Promise<T | undefined>): Promise<T> => {
    for (let life = 0; life < 50; life += 1) {
      const done = await work().catch(() => undefined)
      if (done !== undefined) return done
      clock.advance(3_600_000)
    }
    throw new Error(`${name} is never done`)
  }

  const payAndRefund = async (life: string) => {
    const { api, pass } = bench
    const body = await untilDone('the request', async () => {
      const answer = await api.post('/api/payments', PAYMENT, { key: `pay-${life}` })
      return answer.status === 201 ? answer.body : undefined
    })
    const id = String(body['transaction_id'])
    await untilDone('the confirmation', async () => {
      const form = { client_secret: String(body['client_secret']), payment_method: 'pm_card_visa' }
      const path = `/v1/payment_intents/${String(body['payment_intent_id'])}/confirm`
      const init = { method: 'POST', body: new URLSearchParams(form) }
      const signal = AbortSignal.timeout(100)
      await fetch(server.url + path, { ...init, signal }).catch(() => undefined)
      return true
    })
    const reaches = async (wanted: string) =>
      untilDone(wanted, async () => {
        await pass()
        const { body } = await api.get(`/api/payments/${id}/status`)
        return body['status'] === wanted ? true : undefined
      })
    await reaches('completed')
    await untilDone('the refund', async () => {
      const { status } = await api.post(`/api/payments/${id}/refund`, undefined, {
        key: `refund-${life}`,
      })
      return status === 201 ? true : undefined
    })
    await reaches('refunded')
  }

  const expectOnce = async (told: string) => {
    const intents = new Set(made.filter((id) => id.startsWith('pi_')))
    const refunds = new Set(made.filter((id) => id.startsWith('re_')))
    expect([intents.size, refunds.size], told).to.deep.equal([1, 1])
    expect(await countRows(db, 'transactions'), told).to.equal(lives)
    expect(await countRows(db, 'refunds'), told).to.equal(lives)
    expect(await countRows(db, 'transaction_moves'), told).to.equal(4n * lives)
  }

  it('is charged once and refunded once for a death at every single point', async function () {
    this.timeout(120_000)
    const points = await live([])
    await expectOnce('no death')
    expect(points).to.be.above(90)
    for (let point = 1; point <= points; point += 1) {
      await live([point])
      await expectOnce(`death at ${point}`)
    }
  })

  it('and for three deaths at points of a seed', async function () {
    this.timeout(120_000)
    for (let seed = 1; seed <= 12; seed += 1) {
      const random = createRandom(`deaths/${seed}`)
      await live([1, 2, 3].map(() => 1 + random.below(80)))
      await expectOnce(`seed ${seed}`)
    }
  })
})
