import { expect } from 'chai'

import {
  serveSimulated,
  type Simulated,
  type SimulatedReply,
  type SimulatorServer,
} from '../../src/rails/simulators/serve.ts'
import { createSimulatedWallet } from '../../src/rails/simulators/wallet.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createCrashes } from '../fixtures/books/crashes.ts'
import { startGateways } from '../fixtures/books/gateways.ts'
import { createPaymentLife, deathsOf, type PaymentLife } from '../fixtures/books/payment-life.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const SECRETS = { clientId: 'id', clientSecret: 'secret', webhookId: 'hook' }
const payment = { gateway_id: 3, amount: 20.5, currency: 'EUR', description: 'Two books' }

/** A wallet checkout from the request over the capture to its refund, by a program that dies. */
describe('a wallet payment, whatever dies', () => {
  let life: PaymentLife
  let server: SimulatorServer
  /** What was asked for, and under which key; the same key again is the same thing. */
  let asked: string[]
  /** Loses the answer of a capture, and then tells of the order as it was before. */
  let lags = false

  before(async () => {
    const { db } = await freshDatabase()
    const clock = createTestClock()
    const crashes = createCrashes()
    const wallet = createSimulatedWallet({
      ...SECRETS,
      now: () => clock.now().getTime(),
      dayMs: 24 * 3_600_000,
      webhooks: { tell: () => undefined, send: () => undefined },
      url: () => server.url,
    })
    const behind = createLaggard(wallet)
    server = await serveSimulated((request) => {
      const key = request.headers['paypal-request-id']
      if (key !== undefined) asked.push(`${request.path} ${String(key)}`)
      return lags ? behind(request) : wallet(request)
    })
    const parties = { usual: { wallet_checkout: { ...SECRETS, url: server.url } } }
    const users = { alice: await makeUser(db), bob: await makeUser(db) }
    const bench = await startGateways({ db: crashes.db(db), clock, parties, users })
    life = createPaymentLife({ db, clock, bench, crashes, payment, agree: approve })
  })

  after(async () => server.close())

  const approve = async (created: Record<string, unknown>) => {
    const init = { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) }
    expect((await fetch(String(created['approval_url']), init)).status).to.equal(200)
  }

  const live = async (points: readonly number[]): Promise<number> => {
    asked = []
    const passed = await life.live(points)
    const told = `death at ${points.join()}`
    const different = (pattern: RegExp) => new Set(asked.filter((one) => pattern.test(one))).size
    expect(different(/\/orders TX/), `${told}: orders`).to.equal(1)
    expect(different(/\/capture TX/), `${told}: captures`).to.equal(1)
    expect(different(/\/refund REF/), `${told}: refunds`).to.equal(1)
    expect(different(/./), told).to.equal(3)
    await life.expectOnce(told)
    return passed
  }

  it('is captured once and refunded once for a death at every single point', async () => {
    const points = await live([])
    expect(points).to.be.above(90)
    for (let point = 1; point <= points; point += 1) await live([point])
  })

  it('and for three deaths at points of a seed, where each is captured by two calls', async () => {
    lags = true
    for (let seed = 1; seed <= 12; seed += 1) {
      await live(deathsOf(`wallets/${seed}`, 90))
      const captures = asked.filter((one) => one.includes('/capture TX'))
      expect(captures.length, `seed ${seed}`).to.be.above(1)
    }
  })
})

/** A gateway whose answer to a capture is lost, and that reads from a copy which is late. */
function createLaggard(wallet: Simulated): Simulated {
  const late = new Map<string, SimulatedReply>()
  return async (request) => {
    const { method, path } = request
    const order = path.replace(/\/capture$/, '')
    if (method === 'GET' && late.has(order)) {
      const before = late.get(order)!
      late.delete(order)
      return before
    }
    const before =
      path === order ? undefined : await wallet({ ...request, method: 'GET', path: order })
    const reply = await wallet(request)
    if (before === undefined || !isOpen(before)) return reply
    late.set(order, before)
    return { status: 500, json: { name: 'INTERNAL_SERVER_ERROR' } }
  }
}

function isOpen({ json }: SimulatedReply): boolean {
  return (json as { status?: string }).status === 'APPROVED'
}
