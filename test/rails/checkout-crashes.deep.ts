import { expect } from 'chai'

import type { Hex } from '../../src/domain/orders.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { countRows } from '../fixtures/api/rails-api.ts'
import {
  createCheckoutBench,
  newAddress,
  type CheckoutBench,
} from '../fixtures/books/checkout-bench.ts'
import { createCrashes } from '../fixtures/books/crashes.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { deathsOf } from '../fixtures/books/payment-life.ts'
import { createTestClock } from '../fixtures/clock.ts'

const PAYMENT = { gateway_id: 2, amount: '0.3', currency: 'ETH', description: 'Two books' }
const PARTS = [100_000_000_000_000_000n, 200_000_000_000_000_000n] as const

/** A crypto checkout that is paid in two parts, by a program that dies at points it is given. */
describe('a crypto checkout, whatever dies', () => {
  let place: CheckoutBench
  let bench: GatewayBench
  let lives = 0n
  const crashes = createCrashes()

  before(async () => {
    place = await createCheckoutBench({ through: crashes.db })
    const { db } = place.chain
    const users = { alice: await makeUser(db), bob: await makeUser(db) }
    const { terms } = place.checkout
    const clock = createTestClock()
    bench = await startGateways({ db: crashes.db(db), clock, checkout: terms, users })
  })

  after(async () => place.chain.stop())

  const untilDone = async <T>(work: () => Promise<T | undefined>): Promise<T> => {
    for (let life = 0; life < 10; life += 1) {
      const done = await work().catch(() => undefined)
      if (done !== undefined) return done
    }
    throw new Error('it is never done')
  }

  const readUntil = async (id: string, wanted: object) => {
    const { body } = await untilDone(async () => {
      await place.read()
      const answer = await bench.api.get(`/api/payments/${id}/status`)
      return answer.status === 200 ? answer : undefined
    })
    expect(body).to.include(wanted)
  }

  const live = async (points: readonly number[]): Promise<number> => {
    lives += 1n
    const told = `death at ${points.join()}`
    crashes.arm(points)
    const { body } = await untilDone(async () => {
      const answer = await bench.api.post('/api/payments', PAYMENT, { key: `pay-${lives}` })
      return answer.status === 201 ? answer : undefined
    })
    const id = String(body['transaction_id'])
    const reference = (await place.chargeOf(body)).reference as Hex
    await place.payInEther(reference, PARTS[0], newAddress())
    await readUntil(id, { status: 'processing', gateway_status: 'UNDERPAID' })
    await place.payInEther(reference, PARTS[1], newAddress())
    await readUntil(id, { status: 'completed', gateway_status: 'COMPLETED' })
    const passed = crashes.passed()
    const { db } = place.chain
    expect((await place.chargeOf(body)).received, told).to.equal(PARTS[0] + PARTS[1])
    expect(await countRows(db, 'transactions'), told).to.equal(lives)
    expect(await countRows(db, 'checkout_payments'), told).to.equal(2n * lives)
    expect(await countRows(db, 'transaction_moves'), told).to.equal(3n * lives)
    return passed
  }

  it('counts each settlement once for a death at every single point', async () => {
    const points = await live([])
    expect(points).to.be.above(50)
    for (let point = 1; point <= points; point += 1) await live([point])
  })

  it('and for three deaths at points of a seed', async () => {
    for (let seed = 1; seed <= 12; seed += 1) await live(deathsOf(`checkouts/${seed}`, 60))
  })
})
