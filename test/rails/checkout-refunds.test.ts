import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createPayBack } from '../../src/app/rails.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { refundReference } from '../../src/domain/reference.ts'
import { recordMoves } from '../../src/sender/record.ts'
import type { Sender } from '../../src/sender/sender.ts'
import type { Db } from '../../src/store/database.ts'
import { findOrderOf } from '../../src/store/orders.ts'
import { findStatus } from '../../src/store/transactions.ts'
import { makeUser } from '../support/access.ts'
import { createCheckoutBench, newAddress, type CheckoutBench } from '../support/checkout-bench.ts'
import { createTestClock } from '../support/clock.ts'
import { createCrashes } from '../support/crashes.ts'
import { startGateways, type GatewayBench } from '../support/gateways.ts'
import { deathsOf } from '../support/payment-life.ts'
import { countRows } from '../support/rails-api.ts'
import { reverting } from '../support/sender-bench.ts'

const AMOUNT = 100_000_000_000_000_001n
const { signal } = new AbortController()

type Place = CheckoutBench & { bench: GatewayBench; sender: Sender }

/** Our own checkout, paid to an address that the sender pays from. */
async function createPlace(through: (db: Db) => Db = (db) => db): Promise<Place> {
  const place = await createCheckoutBench({ isOurs: true, through })
  const { chain, checkout } = place
  const { terms } = checkout
  const db = through(chain.db)
  const sender = chain.sender({ db, onMoved: recordMoves })
  const users = { alice: await makeUser(chain.db), bob: await makeUser(chain.db) }
  const payBack = createPayBack({ sender, payer: terms.payee, signal })
  const clock = createTestClock()
  const bench = await startGateways({ db, clock, checkout: terms, payBack, users })
  return { ...place, bench, sender }
}

async function paid({ bench, chargeOf, payInEther, read }: Place): Promise<string> {
  const request = { gateway_id: 2, amount: '0.1', currency: 'ETH', description: 'Two books' }
  const text = { ...request, amount: '0.100000000000000001' }
  const { body } = await bench.api.post('/api/payments', text)
  const { transactionId, reference } = await chargeOf(body)
  await payInEther(reference!, AMOUNT)
  await read()
  return transactionId
}

/** Until nothing is left to decide on the chain, and then what the rail makes of it. */
async function finish({ chain, sender, bench }: Place): Promise<void> {
  for (let round = 0; round < 40 && !(await chain.isEmpty()); round += 1) {
    await chain.pass(sender).catch(() => undefined)
    await chain.world.mine(1)
  }
  await bench.pass().catch(() => undefined)
}

describe('the refund of a payment on chain', () => {
  let place: Place

  beforeEach(async () => {
    place = await createPlace()
  })

  after(async () => place.chain.stop())

  const refund = async (id: string, body?: object, key: string = randomBytes(8).toString('hex')) =>
    place.bench.api.post(`/api/payments/${id}/refund`, body, { key })

  const status = async (id: string) => {
    const url = `/api/payments/${id}/status`
    return (await place.bench.api.get(url)).body
  }

  const balanceOf = async (address: Hex) => place.chain.world.balanceOf(address)

  it('pays what was received to the address that is named, and is then refunded', async () => {
    const id = await paid(place)
    const { db } = place.chain
    const to = newAddress()
    const { status: answered, body } = await refund(id, { to_address: to })
    expect(answered).to.equal(201)
    expect(body).to.include({ status: 'pending', amount_decimal: '0.100000000000000001' })
    await place.bench.pass()
    expect(await status(id)).to.include({ status: 'completed' })
    const order = await findOrderOf(db, String(body['refund_transaction_id']))
    const { reference } = await place.chargeOf({ transaction_id: id })
    expect(order?.reference).to.equal(refundReference(reference!))
    await finish(place)
    expect(await balanceOf(to)).to.equal(AMOUNT)
    expect(await status(id)).to.include({ status: 'refunded' })
    expect(await findStatus(db, String(body['refund_transaction_id']))).to.equal('completed')
  })

  it('is paid once, whether it is asked for again, twice, or at the same time', async () => {
    const id = await paid(place)
    const to = newAddress()
    const answers = await Promise.all(
      ['one', 'two', 'three'].map(async (key) => refund(id, { to_address: to }, key)),
    )
    const statuses = answers.map((answer) => answer.status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([201, 409, 409])
    const won = ['one', 'two', 'three'][answers.findIndex((answer) => answer.status === 201)]
    const again = await refund(id, { to_address: to }, won)
    expect(again.body).to.deep.equal(answers.find((answer) => answer.status === 201)?.body)
    await finish(place)
    expect((await refund(id, { to_address: to })).status).to.equal(409)
    expect(await balanceOf(to)).to.equal(AMOUNT)
    expect(await countRows(place.chain.db, 'orders')).to.equal(1n)
  })

  it('may be asked for again where it was not paid, and to another address', async () => {
    const id = await paid(place)
    const broken = newAddress()
    expect((await refund(id, { to_address: broken })).status).to.equal(201)
    await reverting(place.chain.world, broken)
    await finish(place)
    const [failed] = (await status(id))['refunds'] as Array<Record<string, unknown>>
    expect(failed).to.include({ status: 'failed', error_code: 'reverted' })
    expect(await status(id)).to.include({ status: 'completed' })
    const to = newAddress()
    expect((await refund(id, { to_address: to })).status).to.equal(201)
    await finish(place)
    expect(await balanceOf(to)).to.equal(AMOUNT)
    expect(await status(id)).to.include({ status: 'refunded' })
  })

  it('is refused with nothing stored where it cannot be', async () => {
    const id = await paid(place)
    const { db } = place.chain
    const { settlement, payee } = place.checkout.terms
    const zero = `0x${'0'.repeat(40)}`
    const wrongCase = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'
    expect((await refund(id)).status, 'nobody is named').to.equal(400)
    for (const to_address of [zero, wrongCase, settlement, payee, 'me', 1]) {
      expect((await refund(id, { to_address })).status, String(to_address)).to.equal(400)
    }
    expect((await refund(id, { amount: '0.01', to_address: newAddress() })).status).to.equal(400)
    const request = { gateway_id: 2, amount: '1', currency: 'ETH', description: 'Two books' }
    const unpaid = String(
      (await place.bench.api.post('/api/payments', request)).body['transaction_id'],
    )
    expect((await refund(unpaid, { to_address: newAddress() })).status).to.equal(409)
    const { bob } = place.bench.api
    const url = `/api/payments/${id}/refund`
    const theirs = await place.bench.api.post(url, { to_address: newAddress() }, { as: bob })
    expect(theirs.status).to.equal(404)
    expect(await countRows(db, 'refunds')).to.equal(0n)
    expect(await countRows(db, 'orders')).to.equal(0n)
  })
})

describe('the refund of a payment on chain, whatever dies', () => {
  const crashes = createCrashes()
  let place: Place

  before(async () => {
    place = await createPlace(crashes.db)
  })

  after(async () => place.chain.stop())

  const live = async (told: string, points: readonly number[]): Promise<number> => {
    crashes.arm([])
    const id = await paid(place)
    const to = newAddress()
    crashes.arm(points)
    let answered = 0
    for (let life = 0; life < 5 && answered !== 201; life += 1) {
      const url = `/api/payments/${id}/refund`
      const body = { to_address: to }
      answered = (await place.bench.api.post(url, body, { key: `refund-${id}` })).status
    }
    for (let life = 0; life < 5; life += 1) {
      await finish(place)
      if ((await findStatus(place.chain.db, id)) === 'refunded') break
    }
    const passed = crashes.passed()
    expect(await findStatus(place.chain.db, id), told).to.equal('refunded')
    expect(await place.chain.world.balanceOf(to), told).to.equal(AMOUNT)
    return passed
  }

  it('is paid once for three deaths at points of a seed', async function () {
    this.timeout(120_000)
    const points = await live('no death', [])
    for (let seed = 1; seed <= 20; seed += 1) {
      const deaths = deathsOf(`refunds/${seed}`, points)
      await live(`death at ${deaths.join()}`, deaths)
    }
    expect(await countRows(place.chain.db, 'orders')).to.equal(21n)
  })
})
