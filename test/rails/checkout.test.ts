import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { checkoutPass } from '../../src/rails/checkout.ts'
import { writeCheckoutCursor } from '../../src/store/rails/checkouts.ts'
import { CHAIN_ID } from '../engines/sim/world.ts'
import { countRows } from '../fixtures/api/rails-api.ts'
import { createCheckoutBench, type CheckoutBench } from '../fixtures/books/checkout-bench.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createTestClock } from '../fixtures/clock.ts'

const HOUR_MS = 3_600_000
const { signal } = new AbortController()

describe('our own checkout', () => {
  let chain: CheckoutBench['chain']
  let checkout: CheckoutBench['checkout']
  let chargeOf: CheckoutBench['chargeOf']
  let payInEther: CheckoutBench['payInEther']
  let payInDollars: CheckoutBench['payInDollars']
  let read: CheckoutBench['read']
  let bench: GatewayBench
  let clock: ReturnType<typeof createTestClock>

  beforeEach(async () => {
    const made = await createCheckoutBench()
    ;({ chain, checkout, chargeOf, payInEther, payInDollars, read } = made)
    const { db } = chain
    clock = createTestClock()
    bench = await startGateways({ db, clock, checkout: checkout.terms })
  })

  after(async () => chain.stop())

  const create = async (amount: string, currency = 'USD') => {
    const request = { gateway_id: 2, amount, currency, description: '<b>Two</b> books' }
    return (await bench.api.post('/api/payments', request)).body
  }

  const pageOf = (body: Record<string, unknown>) =>
    bench.door.checkoutPage(String(body['charge_id']))

  const status = async (body: Record<string, unknown>) =>
    (await bench.api.get(`/api/payments/${String(body['transaction_id'])}/status`)).body

  it('answers with a page and a charge, and is completed by what is final', async () => {
    const body = await create('12.34')
    expect(body['charge_id']).to.match(/^REF\d{20}$/)
    expect(body['hosted_url']).to.equal(`https://pay.example/checkout/${String(body['charge_id'])}`)
    const { reference } = await chargeOf(body)
    await payInDollars(reference!, 12_340_000n)
    await checkoutPass(checkout, signal)
    expect(await status(body), 'not final yet').to.include({ status: 'pending' })
    await read()
    const paid = { status: 'completed', gateway_status: 'COMPLETED', received_decimal: '12.34' }
    expect(await status(body)).to.include(paid)
    expect((await status(body))['gateway_reference']).to.equal(body['charge_id'])
  })

  it('names the token, and opens for no dollars while they cannot be paid', async () => {
    const { db } = chain
    let obstacle: 'token_paused' | 'payee_frozen' | undefined
    const readObstacle = () => Promise.resolve(obstacle)
    const terms = { ...checkout.terms, tokenName: 'USDC on Base', readObstacle }
    const other = await startGateways({ db, clock, checkout: terms })
    const ask = (currency: string) => {
      const request = { gateway_id: 2, amount: '1.00', currency, description: 'Books' }
      return other.api.post('/api/payments', request)
    }
    const made = await ask('USD')
    expect(made.status).to.equal(201)
    const page = async () =>
      (await other.door.checkoutPage(String(made.body['charge_id'])))?.body ?? ''
    expect(await page())
      .to.include('USDC on Base')
      .and.include('Pay with a wallet')
    clock.advance(60_000)
    obstacle = 'token_paused'
    const paused = await ask('USD')
    expect(paused.status).to.equal(503)
    expect(paused.body).to.include({ code: 'unavailable' })
    expect(await page())
      .to.include('cannot be paid here now')
      .and.not.include('Pay with a wallet')
    obstacle = 'payee_frozen'
    const frozen = await ask('USD')
    expect(frozen.status).to.equal(503)
    expect(frozen.body).to.include({ code: 'operator_needed' })
    expect((await ask('ETH')).status).to.equal(201)
    expect(await countRows(db, 'charges')).to.equal(2n)
  })

  it('takes native coin for what is asked in ETH, to the last wei', async () => {
    const body = await create('0.100000000000000001', 'ETH')
    await payInEther((await chargeOf(body)).reference!, 100_000_000_000_000_001n)
    await read()
    expect(await status(body)).to.include({
      status: 'completed',
      received_decimal: '0.100000000000000001',
    })
  })

  it('tells less and more apart, each with what has come', async () => {
    const [less, more] = [await create('10'), await create('10')]
    await payInDollars((await chargeOf(less)).reference!, 9_999_999n)
    await payInDollars((await chargeOf(more)).reference!, 10_000_001n)
    await read()
    expect(await status(less)).to.include({
      status: 'processing',
      gateway_status: 'UNDERPAID',
      received_decimal: '9.999999',
      remaining_decimal: '0.000001',
      overpaid_decimal: '0',
    })
    expect(await status(more)).to.include({
      status: 'completed',
      gateway_status: 'OVERPAID',
      received_decimal: '10.000001',
      remaining_decimal: '0',
      overpaid_decimal: '0.000001',
    })
  })

  it('is completed when somebody else pays the rest', async () => {
    const body = await create('10')
    const { reference } = await chargeOf(body)
    await payInDollars(reference!, 4_000_000n)
    await read()
    await payInDollars(reference!, 6_000_000n)
    await read()
    expect(await status(body)).to.include({ status: 'completed', received_decimal: '10' })
  })

  it('expires by the time of the chain, and shows what comes late', async () => {
    const early = createTestClock(new Date(Date.now() - 2 * HOUR_MS))
    const { db } = chain
    bench = await startGateways({ db, clock: early, checkout: checkout.terms })
    const [unpaid, late] = [await create('10'), await create('10')]
    await read()
    expect(await status(unpaid)).to.include({ status: 'failed', error_code: 'expired' })
    await payInDollars((await chargeOf(late)).reference!, 10_000_000n)
    await read()
    expect(await status(late)).to.include({
      status: 'failed',
      gateway_status: 'DELAYED',
      received_decimal: '10',
    })
  })

  it('counts each settlement once, however often the blocks are read', async () => {
    const body = await create('10')
    await payInDollars((await chargeOf(body)).reference!, 10_000_000n)
    await read()
    const { settlement, payee } = checkout.terms
    const place = { chainId: CHAIN_ID, settlement, payee }
    const again = { blockNumber: 0n, blockHash: `0x${'0'.repeat(64)}` as const }
    await writeCheckoutCursor(chain.db, place, again)
    await read()
    expect(await countRows(chain.db, 'checkout_payments')).to.equal(1n)
    expect(await status(body)).to.include({ gateway_status: 'COMPLETED', received_decimal: '10' })
  })

  it('is not paid by an event that another contract logs, nor by another reference', async () => {
    const body = await create('10')
    await payInDollars(`0x${randomBytes(32).toString('hex')}`, 10_000_000n)
    await read()
    expect(await status(body)).to.include({ status: 'pending', received_decimal: null })
  })

  it('shows a page on which nothing of the caller is markup', async () => {
    const body = await create('12.34')
    const { body: page, title } = (await pageOf(body))!
    const { reference } = await chargeOf(body)
    expect(title).to.equal('Pay 12.34 USD')
    expect(page).to.include('12.34 USD').and.to.include(reference).and.to.include('data-live')
    expect(page).to.include('&lt;b&gt;Two&lt;/b&gt; books').and.not.to.include('<b>')
    expect(page).to.include(`ethereum:`).and.to.include('/settleToken?bytes32=')
    expect(page.match(/<svg class="code" role="img"/g)).to.have.length(2)
    expect(page).not.to.match(/<script|javascript:|\sstyle=|\son\w+=/i)
    expect(await bench.door.checkoutPage('REF00000000000000000000')).to.equal(undefined)
  })

  it('says what to do in every state, and changes its state with what it says', async () => {
    const body = await create('10')
    const { reference } = await chargeOf(body)
    const open = (await pageOf(body))!
    await payInDollars(reference!, 4_000_000n)
    await read()
    clock.advance(1_000)
    const part = (await pageOf(body))!
    expect(part.state).not.to.equal(open.state)
    expect(part.title).to.equal('Pay 6.00 USD')
    expect(part.body).to.include('4.00 of 10.00 USD has arrived').and.to.include('uint256=6000000')
    expect(part.body).not.to.include('Do not pay again')
    await payInDollars(reference!, 6_000_000n)
    await read()
    clock.advance(1_000)
    const paid = (await pageOf(body))!
    expect(paid.title).to.equal('Paid 10.00 USD')
    expect(paid.body).to.include('This is paid.').and.not.to.include('data-live')
  })

  it('cannot be refunded by us, and says so', async () => {
    const body = await create('10')
    await payInDollars((await chargeOf(body)).reference!, 10_000_000n)
    await read()
    const url = `/api/payments/${String(body['transaction_id'])}/refund`
    expect((await bench.api.post(url, undefined)).status).to.equal(409)
  })
})
