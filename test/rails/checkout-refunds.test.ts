import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { encodeFunctionData, erc20Abi } from 'viem'

import { readBlockchainTransaction } from '../../src/api/endpoints/api/blockchain/wire.ts'
import { selectorOf } from '../../src/chain/read/events.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { refundReference } from '../../src/domain/reference.ts'
import { createPayBack } from '../../src/sender/pay-back.ts'
import { recordMoves } from '../../src/sender/record.ts'
import type { Sender } from '../../src/sender/sender.ts'
import type { Db } from '../../src/store/database/database.ts'
import { findOrderOf } from '../../src/store/orders/orders.ts'
import { findStatus } from '../../src/store/transactions/transactions.ts'
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
import { reverting } from '../fixtures/books/sender-bench.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { limit } from '../fixtures/store/limits.ts'

const AMOUNT = 100_000_000_000_000_001n
const { signal } = new AbortController()

type Place = CheckoutBench & { bench: GatewayBench; sender: Sender }

/** Our own checkout, paid to an address that the sender pays from. */
async function createPlace(through: (db: Db) => Db = (db) => db): Promise<Place> {
  const place = await createCheckoutBench({ isOurs: true, through })
  const { chain, checkout } = place
  const { terms } = checkout
  const db = through(chain.db)
  const sender = chain.sender({ db, onMoved: recordMoves, stablecoin: terms.stablecoin })
  const users = { alice: await makeUser(chain.db), bob: await makeUser(chain.db) }
  const payBack = createPayBack({ ...terms, sender, payer: terms.payee, signal })
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

async function paidInDollars(
  { bench, chargeOf, payInDollars, read }: Place,
  units = 12_340_000n,
): Promise<string> {
  const request = { gateway_id: 2, amount: '12.34', currency: 'USD', description: 'Two books' }
  const { body } = await bench.api.post('/api/payments', request)
  const { transactionId, reference } = await chargeOf(body)
  await payInDollars(reference!, units)
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

  it('is held by the limits on refunds, in the coin that it came in', async () => {
    const { db } = place.chain
    const [ether, dollars] = [await paid(place), await paidInDollars(place)]
    const to_address = newAddress()
    const cent = 10n ** 16n
    await limit(db, { way: 'refund', perDay: AMOUNT - 1n })
    await limit(db, { way: 'refund', currency: 'USD', perTransaction: 1_233n * cent })
    // What is paid otherwise has limits of its own.
    for (const currency of ['ETH', 'USD']) await limit(db, { currency, perDay: 0n })
    for (const [id, code] of [
      [ether, 'limit_per_day'],
      [dollars, 'limit_per_transaction'],
    ] as const) {
      const { status, body } = await refund(id, { to_address })
      expect([status, body['code']]).to.deep.equal([400, 'limit_exceeded'])
      expect((body['details'] as { code: string }[])[0]).to.include({ code })
    }
    expect(await countRows(db, 'refunds')).to.equal(0n)
    await limit(db, { way: 'refund', perDay: AMOUNT })
    await limit(db, { way: 'refund', currency: 'USD', perTransaction: 1_234n * cent })
    for (const id of [ether, dollars]) {
      expect((await refund(id, { to_address })).status).to.equal(201)
    }
  })

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

  it('waits, and is not paid again, where it may have been paid', async () => {
    const id = await paid(place)
    const { rpc } = place.chain.world
    const { settlement } = place.checkout.terms
    expect((await refund(id, { to_address: newAddress() })).status).to.equal(201)
    const code = await rpc('eth_getCode', [settlement, 'latest'])
    // A success without the event.
    await rpc('anvil_setCode', [settlement, '0x00'])
    await finish(place)
    await rpc('anvil_setCode', [settlement, code])
    expect((await status(id))['refunds']).to.have.nested.property('[0].status', 'pending')
    expect((await refund(id, { to_address: newAddress() })).status).to.equal(409)
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
    for (const amount of ['0', '-1', '1e-1', 'all', '0.100000000000000002', null]) {
      const asked = { amount, to_address: newAddress() }
      expect((await refund(id, asked)).status, String(amount)).to.equal(400)
    }
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

describe('the refund of dollars on chain', () => {
  let place: Place

  beforeEach(async () => {
    place = await createPlace()
  })

  after(async () => place.chain.stop())

  const refund = async (id: string, body: object) =>
    place.bench.api.post(`/api/payments/${id}/refund`, body)

  const status = async (id: string) =>
    (await place.bench.api.get(`/api/payments/${id}/status`)).body

  const allowed = async () => {
    const { payee, settlement, stablecoin } = place.checkout.terms
    const words = [payee, settlement].map((address) => address.slice(2).padStart(64, '0'))
    const call = { to: stablecoin, data: selectorOf('allowance(address,address)') + words.join('') }
    return BigInt(String(await place.chain.world.rpc('eth_call', [call, 'latest'])))
  }

  it('pays the token back through the contract, and lets it take nothing more', async () => {
    const id = await paidInDollars(place)
    const to = newAddress()
    const { status: answered, body } = await refund(id, { to_address: to })
    expect(answered).to.equal(201)
    expect(body).to.include({ status: 'pending', amount_decimal: '12.34', currency: 'USD' })
    await finish(place)
    expect(await dollarsOf(place, to)).to.equal(12_340_000n)
    expect(await allowed()).to.equal(0n)
    expect(await status(id)).to.include({ status: 'refunded' })
    const { db } = place.chain
    const order = await findOrderOf(db, String(body['refund_transaction_id']))
    const { reference } = await place.chargeOf({ transaction_id: id })
    expect(order?.reference).to.equal(refundReference(reference!))
    expect(order).to.include({ route: 'token', state: 'completed', amount: 12_340_000n })
    expect(await findStatus(db, order!.subject)).to.equal('completed')
    const paid = { transactionId: order!.subject, currency: 'USD', tokenDecimals: null }
    const shown = await readBlockchainTransaction(db, paid, [])
    expect(shown).to.include({ amount_decimal: '12.34', reference: order!.reference })
    expect(shown).not.to.have.property('amount_wei')
  })

  it('leaves what a token has below a cent, and says what it sends', async () => {
    const id = await paidInDollars(place, 12_349_999n)
    const to = newAddress()
    const { body } = await refund(id, { to_address: to })
    expect(body).to.include({ amount_decimal: '12.34' })
    await finish(place)
    expect(await dollarsOf(place, to)).to.equal(12_340_000n)
    expect(await status(id)).to.include({ status: 'refunded', received_decimal: '12.349999' })
  })

  it('has one effect for two payments at a time, each with an allowance of its own', async () => {
    const ids = [await paidInDollars(place), await paidInDollars(place)]
    const to = newAddress()
    for (const id of [...ids, ...ids]) await refund(id, { to_address: to })
    expect(await countRows(place.chain.db, 'orders')).to.equal(4n)
    await finish(place)
    expect(await dollarsOf(place, to)).to.equal(24_680_000n)
    for (const id of ids) expect(await status(id)).to.include({ status: 'refunded' })
  })

  it('goes back in parts, and never more than has come', async () => {
    const id = await paidInDollars(place)
    const [one, two] = [newAddress(), newAddress()]
    const parts = [1, 2, 3].map(async () => refund(id, { amount: '5', to_address: one }))
    const answers = await Promise.all(parts)
    const first = answers.filter((answer) => answer.status === 201)
    expect(first.length).to.be.within(1, 2)
    for (const answer of answers) expect(answer.status).to.be.oneOf([201, 400, 409])
    await finish(place)
    const back = { status: 'completed', refunded_decimal: String(5 * first.length) }
    expect(await status(id)).to.include(back)
    expect((await refund(id, { amount: '12.34', to_address: two })).status).to.equal(400)
    expect((await refund(id, { to_address: two })).status).to.equal(201)
    await finish(place)
    const held = (await dollarsOf(place, one)) + (await dollarsOf(place, two))
    expect(held).to.equal(12_340_000n)
    expect(await status(id)).to.include({ status: 'refunded', refunded_decimal: '12.34' })
  })

  it('is refused with nothing stored where the dollars are gone', async () => {
    const id = await paidInDollars(place)
    const { payee, stablecoin } = place.checkout.terms
    const { rpc, mine } = place.chain.world
    const args = [newAddress(), 1n] as const
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args })
    await rpc('anvil_impersonateAccount', [payee])
    await rpc('eth_sendTransaction', [{ from: payee, to: stablecoin, data, gas: '0x7a120' }])
    await mine(1)
    const { status: answered, body } = await refund(id, { to_address: newAddress() })
    expect([answered, body['code']]).to.deep.equal([503, 'operator_needed'])
    expect(await countRows(place.chain.db, 'refunds')).to.equal(0n)
    expect(await countRows(place.chain.db, 'orders')).to.equal(0n)
  })

  it('may be asked for again where the token refuses it in the block', async () => {
    const id = await paidInDollars(place)
    const { rpc } = place.chain.world
    const { stablecoin } = place.checkout.terms
    expect((await refund(id, { to_address: newAddress() })).status).to.equal(201)
    const code = await rpc('eth_getCode', [stablecoin, 'latest'])
    await rpc('anvil_setCode', [stablecoin, '0x5f5ffd'])
    await finish(place)
    await rpc('anvil_setCode', [stablecoin, code])
    expect(await status(id)).to.include({ status: 'completed' })
    const to = newAddress()
    expect((await refund(id, { to_address: to })).status).to.equal(201)
    await finish(place)
    expect(await dollarsOf(place, to)).to.equal(12_340_000n)
    expect(await status(id)).to.include({ status: 'refunded' })
  })
})

describe('the refund of a payment on chain, whatever dies', () => {
  const crashes = createCrashes()
  let place: Place

  before(async () => {
    place = await createPlace(crashes.db)
  })

  after(async () => place.chain.stop())

  type Coin = { name: string; amount: bigint; pay: (place: Place) => Promise<string> }

  const held = async (coin: Coin, of: Hex) =>
    coin.name === 'ether' ? place.chain.world.balanceOf(of) : dollarsOf(place, of)

  const live = async (coin: Coin, points: readonly number[]): Promise<number> => {
    const told = `${coin.name}, death at ${points.join()}`
    crashes.arm([])
    const id = await coin.pay(place)
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
    expect(await held(coin, to), told).to.equal(coin.amount)
    return passed
  }

  const ether: Coin = { name: 'ether', amount: AMOUNT, pay: paid }
  const dollars: Coin = { name: 'dollars', amount: 12_340_000n, pay: paidInDollars }

  for (const [coin, orders] of [
    [ether, 1n],
    [dollars, 2n],
  ] as const) {
    it(`is paid once in ${coin.name} for three deaths at points of a seed`, async function () {
      this.timeout(120_000)
      const before = await countRows(place.chain.db, 'orders')
      const points = await live(coin, [])
      for (let seed = 1; seed <= 10; seed += 1) {
        await live(coin, deathsOf(`refunds/${coin.name}/${seed}`, points))
      }
      const made = (await countRows(place.chain.db, 'orders')) - before
      expect(made).to.equal(11n * orders)
    })
  }
})

/** What an address holds of the dollar token. */
async function dollarsOf({ chain, checkout }: Place, address: Hex): Promise<bigint> {
  const data = selectorOf('balanceOf(address)') + address.slice(2).padStart(64, '0')
  const call = { to: checkout.terms.stablecoin, data }
  return BigInt(String(await chain.world.rpc('eth_call', [call, 'latest'])))
}
