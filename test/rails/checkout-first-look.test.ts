import { expect } from 'chai'

import { createLogger } from '../../src/base/logger.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { renderCheckout } from '../../src/rails/checkout-page.ts'
import { checkoutPass, type CheckoutDeps } from '../../src/rails/checkout.ts'
import { recordChain } from '../../src/store/database/chains.ts'
import { findCharge } from '../../src/store/rails/charges.ts'
import { readCheckoutCursor } from '../../src/store/rails/checkouts.ts'
import { escapeHtml } from '../../src/wire/html.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createScriptedBlocks, type ScriptedBlocks } from '../fixtures/chain/scripted-blocks.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const HOUR_MS = 3_600_000
const PAYEE: Hex = `0x${'aa'.repeat(20)}`
const DOLLAR: Hex = `0x${'dd'.repeat(20)}`
const SETTLEMENT: Hex = `0x${'5e'.repeat(20)}`
const { signal } = new AbortController()

describe('the first look at what was paid at our own checkout', () => {
  let clock: TestClock
  let chain: ScriptedBlocks
  let checkout: CheckoutDeps
  let bench: GatewayBench

  beforeEach(async () => {
    const { db } = await freshDatabase()
    clock = createTestClock()
    const now = clock.now().getTime()
    chain = createScriptedBlocks({ payee: PAYEE, now: clock.now })
    for (let hour = 50; hour > 0; hour -= 1) chain.mine([], new Date(now - hour * HOUR_MS))
    const terms = { chainId: 31337, settlement: SETTLEMENT, payee: PAYEE, stablecoin: DOLLAR }
    const logger = createLogger({ level: 'silent' })
    checkout = { db, clock, logger, terms, ...chain }
    bench = await startGateways({ db, clock, checkout: terms })
  })

  const create = async () => {
    const request = { gateway_id: 2, amount: '10', currency: 'USD', description: 'Two books' }
    const { body } = await bench.api.post('/api/payments', request)
    const id = String(body['transaction_id'])
    return { id, reference: (await findCharge(checkout.db, id))!.reference! }
  }
  const status = async (id: string) => (await bench.api.get(`/api/payments/${id}/status`)).body

  /** The blocks that were asked for settlements, from the first to the last. */
  const look = async (): Promise<readonly [bigint, bigint]> => {
    const ranges: { from: bigint; to: bigint }[] = []
    const settlements: CheckoutDeps['settlements'] = async (range, signal) => {
      ranges.push(range)
      return chain.settlements(range, signal)
    }
    while (await checkoutPass({ ...checkout, settlements }, signal)) continue
    return [ranges[0]!.from, ranges.at(-1)!.to]
  }

  it('finds a payment that became final before anybody read', async () => {
    const { id, reference } = await create()
    chain.mine([{ reference, amount: 10_000_000n, token: DOLLAR }])
    for (let block = 0; block < 20; block += 1) chain.mine()
    clock.advance(2 * HOUR_MS)
    chain.mine()
    expect(await look()).to.deep.equal([51n, 72n])
    expect(await status(id)).to.include({ status: 'completed', received_decimal: '10' })
  })

  it('begins with the last final block where nobody has asked for anything yet', async () => {
    expect(await look()).to.deep.equal([50n, 50n])
  })

  it('lets blocks gather while nobody is to pay, and finds what was paid in them', async () => {
    await look()
    const seen = async () => (await readCheckoutCursor(checkout.db, checkout.terms))?.blockNumber
    for (let block = 0; block < 10; block += 1) chain.mine()
    expect(await checkoutPass(checkout, signal)).to.equal(false)
    expect(await seen()).to.equal(50n)
    const { id, reference } = await create()
    chain.mine([{ reference, amount: 10_000_000n, token: DOLLAR }])
    expect(await look()).to.deep.equal([51n, 61n])
    expect(await status(id)).to.include({ status: 'completed' })
    clock.advance(50 * HOUR_MS)
    for (let block = 0; block < 15; block += 1) chain.mine()
    await checkoutPass(checkout, signal)
    expect(await seen()).to.equal(61n)
    chain.mine()
    expect(await look()).to.deep.equal([62n, 77n])
  })

  it('counts no wei as dollars where the reader knows no dollar token', async () => {
    const { id, reference } = await create()
    checkout = { ...checkout, terms: { ...checkout.terms, stablecoin: undefined } }
    chain.mine([{ reference, amount: 10_000_000n, token: undefined }])
    await look()
    const { arrivals, ...shown } = await status(id)
    expect(shown).to.include({ status: 'pending', received_decimal: null })
    const wrong = { verdict: 'wrong_token', token: null, currency: 'ETH' }
    expect((arrivals as object[])[0]).to.include(wrong)
  })

  it('names the coin of the chain on which it arrived', async () => {
    const { id, reference } = await create()
    const chainId = 31337
    await recordChain(checkout.db, { chainId, name: 'polygon', code: 'MATIC', coin: 'POL' })
    chain.mine([{ reference, amount: 10n ** 18n, token: undefined }])
    await look()
    const [arrival] = (await status(id))['arrivals'] as object[]
    expect(arrival).to.include({ amount_decimal: '1', currency: 'POL', verdict: 'wrong_token' })
  })

  it('shows no link for dollars where there is no dollar token, but says so', async () => {
    const { id } = await create()
    const charge = await findCharge(checkout.db, id)
    const page = renderCheckout(
      { charge: charge!, paidUnder: new Map() },
      { ...checkout.terms, stablecoin: undefined },
      clock.now(),
    )
    expect(page.body).to.include('cannot be paid').and.not.to.include('ethereum:')
  })

  it('has the unit that wallets show, the price and the seller, none of it markup', async () => {
    const { id } = await create()
    const charge = (await findCharge(checkout.db, id))!
    const show = (terms: Partial<CheckoutDeps['terms']>) =>
      renderCheckout({ charge, paidUnder: new Map() }, { ...checkout.terms, ...terms }, clock.now())
    const page = show({ tokenSymbol: 'RUSD', seller: 'Books & <Co>' })
    expect(page.title).to.equal('Pay 10.00 RUSD')
    expect(page.body).to.include('<h1>10.00 RUSD</h1>').and.to.include('To Books &amp; &lt;Co&gt;')
    expect(page.body).to.include('10.00 USD. One RUSD stands for one dollar.')
    expect(page.body).to.include('<code>10 RUSD</code>')
    expect(show({}).body)
      .to.include('<h1>10.00 USD</h1>')
      .and.not.to.match(/stands for|<p>To /)
    const odd = show({ tokenSymbol: '<b>' })
    expect(odd.title + odd.body).not.to.include('<b>')
  })

  it('names what arrived in the coin instead of the token', async () => {
    const { id } = await create()
    const charge = (await findCharge(checkout.db, id))!
    const hash = `0x${'12'.repeat(32)}` as const
    const stray = { token: undefined, amount: 10n ** 17n, payer: PAYEE, transactionHash: hash }
    const paid = { charge, paidUnder: new Map(), strays: [stray] }
    const { body } = renderCheckout(paid, { ...checkout.terms, coin: 'POL' }, clock.now())
    expect(body).to.include('0.1 POL from').and.to.include(hash)
  })

  it('carries a permit for a wallet to sign, which ends when the time to pay does', async () => {
    const { id, reference } = await create()
    const charge = (await findCharge(checkout.db, id))!
    const show = (terms: Partial<CheckoutDeps['terms']>) =>
      renderCheckout({ charge, paidUnder: new Map() }, { ...checkout.terms, ...terms }, clock.now())
    expect(show({}).body).not.to.include('data-permit')
    const permitDomain = { name: '"><script>', version: '1', separator: reference }
    const { body } = show({ permitDomain })
    const permit = {
      chainId: 31337,
      token: DOLLAR,
      settlement: SETTLEMENT,
      payee: PAYEE,
      reference,
      amount: '10000000',
      deadline: Math.floor(charge.expiresAt!.getTime() / 1000),
      name: '"><script>',
      version: '1',
    }
    expect(body).to.include(`data-permit="${escapeHtml(JSON.stringify(permit))}"`)
    expect(body).not.to.include('<script')
  })
})
