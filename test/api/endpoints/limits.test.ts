import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'

import { batchEndpoints } from '../../../src/api/endpoints/api/blockchain/batches.ts'
import { blockchainCreateEndpoint } from '../../../src/api/endpoints/api/blockchain/transactions.ts'
import { transferEndpoints } from '../../../src/api/endpoints/api/transfers.ts'
import type { WayOut } from '../../../src/domain/spending.ts'
import { institutionsOf } from '../../../src/rails/bank.ts'
import { addressFrom } from '../../engines/sim/world.ts'
import type { ApiAnswer } from '../../fixtures/api/api.ts'
import { startRailsApi, type RailsApi } from '../../fixtures/api/rails-api.ts'
import { NO_PARTIES } from '../../fixtures/books/gateways.ts'
import { deposit, DOLLAR, startMoneyApi, type MoneyApi } from '../../fixtures/books/money.ts'
import { paymentsOf } from '../../fixtures/books/payments.ts'
import { createSupplyBench, type SupplyBench } from '../../fixtures/books/supply-bench.ts'
import { limit } from '../../fixtures/store/limits.ts'
import { oneChain } from '../../fixtures/api/chains.ts'

const UNIT = 10n ** 18n
const WIRE = { type: 'wire', name: 'Ada Lovelace', addressLine1: '12 St James Square' }
/** What is paid on the chain is asked for at once in the tests of the sender. */
const LEDGER_ONLY = new Set(['a wire', 'a transfer to a bank'])
const BANK = { url: 'http://127.0.0.1:1', key: 'key', accountId: 'account_1' }

describe('limits on what leaves', () => {
  let chain: SupplyBench
  let money: MoneyApi
  let rails: RailsApi

  beforeEach(async () => {
    chain = await createSupplyBench()
    const { ledger, minting, withdrawing, burning, bench, sender, clock } = chain
    const parts = { ledger, minting, withdrawing, burning }
    money = await startMoneyApi(parts as never)
    const { db, alice, bob } = money
    await deposit(db, money.main, 10_000n * DOLLAR)
    const payer = bench.signers.addresses[1]!
    const payments = paymentsOf(bench, sender, () => Promise.resolve(payer))
    await chain.mintAside(payer, 1_000n * DOLLAR, `0x${'11'.repeat(32)}`)
    const institutions = institutionsOf({ ...NO_PARTIES, usual: { bank: BANK } })
    const endpoints = [
      blockchainCreateEndpoint({ chains: oneChain({ payments }), randomBytes }),
      ...batchEndpoints({ chains: oneChain({ payments }), randomBytes }),
      ...transferEndpoints({ institutions, randomBytes, clock, kickWires: () => undefined }),
    ]
    rails = await startRailsApi(db, endpoints, { alice, bob })
  })
  afterEach(() => money.api.close())
  after(() => chain.bench.stop())

  const pay = (amount: string, parts: object = {}) => {
    const body = { to_address: addressFrom('limits'), amount, description: 'limits', ...parts }
    return rails.post('/api/blockchain/transactions', body)
  }
  const payInDollars = (amount: string, use_contract: boolean) =>
    pay(amount, { currency: 'USD', use_contract })
  const payTogether = (amount: string, currency: string) => {
    const items = [{ to_address: addressFrom('limits'), amount }]
    return rails.post('/api/blockchain/batches', { currency, on_failure: 'each', items })
  }
  const destination = { type: 'blockchain', address: addressFrom('limits'), chain: 'ETH' }
  const mint = (amount: string) =>
    money.post('/v1/businessAccount/transfers', { amount, destination })
  const withdraw = (amount: string) => {
    const source = { type: 'wallet', id: String(money.main) }
    return money.post('/v1/transfers', { amount, source, destination })
  }
  const wire = (amount: string) => money.post('/v1/payments', { amount, destination: WIRE })
  const redeem = (amount: string) => {
    const source = { type: 'blockchain', chain: 'ETH', custodial: true }
    return money.post('/v1/transfers', { amount, source, destination: WIRE })
  }
  const transfer = (amount: string) => {
    const request = { institution_id: 1, currency: 'USD', description: 'Rent' }
    return rails.post('/api/transfers', { ...request, amount })
  }

  const WAYS: [string, WayOut, string, (amount: string) => Promise<ApiAnswer>][] = [
    ['a payment in ether', 'chain', 'ETH', pay],
    ['a payment in dollars', 'chain', 'USD', (amount) => payInDollars(amount, false)],
    ['the same through the contract', 'chain', 'USD', (amount) => payInDollars(amount, true)],
    ['a batch in ether', 'chain', 'ETH', (amount) => payTogether(amount, 'ETH')],
    ['a batch in dollars', 'chain', 'USD', (amount) => payTogether(amount, 'USD')],
    ['a mint', 'mint', 'USD', mint],
    ['a withdrawal', 'withdrawal', 'USD', withdraw],
    ['a wire', 'wire', 'USD', wire],
    ['a redeem from the own address', 'wire', 'USD', redeem],
    ['a transfer to a bank', 'transfer', 'USD', transfer],
  ]

  /** The sentence of the field, since Group A and B have different forms around it. */
  const refusalOf = ({ status, body }: ApiAnswer) => {
    const [first] = (body['details'] ?? body['errors']) as Record<string, string>[]
    return { status, code: body['code'], message: String(first?.['message']) }
  }
  const used = async () => {
    const { rows } = await sql<{ amount: string }>`
      select amount::text from spends where payee = '' order by day`.execute(money.db)
    return rows.map(({ amount }) => Number(BigInt(amount) / UNIT))
  }
  const stored = async () => {
    const { rows } = await sql<{ count: number }>`
      select (select count(*) from orders)::integer + (select count(*) from transactions)::integer
        + (select count(*) from transfers)::integer + (select count(*) from payments)::integer
        as count`.execute(money.db)
    return rows[0]?.count
  }
  const nextDay = () => {
    chain.clock.advance(24 * 3_600_000)
    chain.bench.clock.advance(24 * 3_600_000)
  }

  for (const [name, way, currency, send] of WAYS) {
    it(`hold for ${name}: of one, of a day, of a user`, async () => {
      const { db, alice, bob } = money
      const kind = { way, currency }
      const expectRefused = async (amount: string, needed: string, option: string) => {
        const before = await stored()
        const { status, code, message } = refusalOf(await send(amount))
        expect([status, code]).to.be.deep.oneOf([
          [400, 'limit_exceeded'],
          [400, 1076],
        ])
        const command = `quittance limits set ${way} ${currency} ${option} ${needed}`
        expect(message).to.include(command).and.include('POST /api/admin/limits')
        expect(await stored()).to.equal(before)
      }
      const expectTaken = async (amount: string) => {
        const { status, text } = await send(amount)
        expect(status, text).to.equal(201)
      }
      await limit(db, { ...kind, perTransaction: 5n * UNIT, perDay: 7n * UNIT })
      await expectRefused('5.01', '5.01', '--per-transaction')
      await expectTaken('5')
      await expectRefused('3', '8', '--per-day')
      await expectTaken('2')
      await expectRefused('1', '8', '--per-day')
      expect(await used()).to.deep.equal([7])
      // Above what holds for everybody, and then below it; what another has does not matter.
      await limit(db, { ...kind, userId: bob.id, perDay: 100n * UNIT })
      await expectRefused('1', '8', '--per-day')
      await limit(db, { ...kind, userId: alice.id, perDay: 9n * UNIT })
      await expectTaken('1')
      await expectRefused('2', '10', '--per-day')
      await limit(db, { ...kind, userId: alice.id, perDay: 8n * UNIT })
      await expectRefused('1', '9', '--per-day')
      nextDay()
      await expectRefused('5.01', '5.01', '--per-transaction')
      await expectTaken('4')
      expect(await used()).to.deep.equal([8, 4])
      await limit(db, { ...kind, userId: alice.id, perDay: null })
      await expectTaken('3')
      await expectRefused('1', '8', '--per-day')
      await limit(db, { ...kind, perTransaction: 0n })
      await expectRefused('0.01', '0.01', '--per-transaction')
    }).timeout(60_000)
  }

  for (const [name, way, currency, send] of WAYS.filter(([name]) => LEDGER_ONLY.has(name))) {
    it(`let half of a hundred that come at once pass, for ${name}`, async () => {
      await limit(money.db, { way, currency, perDay: 50n * UNIT })
      const answers = await Promise.all(Array.from({ length: 100 }, () => send('1')))
      expect(answers.filter(({ status }) => status === 201)).to.have.length(50)
      expect(answers.filter(({ status }) => status === 400)).to.have.length(50)
      expect(await used()).to.deep.equal([50])
    }).timeout(120_000)
  }

  it('count what fails later', async () => {
    await limit(money.db, { way: 'wire', currency: 'USD', perDay: 5n * UNIT })
    const { body } = await wire('5')
    const { id } = body['data'] as { id: string }
    await sql`update payments set status = 'failed', error_code = 'no_account'
      where id = ${id}`.execute(money.db)
    expect((await wire('1')).status).to.equal(400)
  })

  it('name every item of a batch that is too large', async () => {
    await limit(money.db, { perTransaction: 5n * UNIT })
    const items = ['5', '6', '1', '7'].map((amount, place) => {
      return { to_address: addressFrom(`limits ${place}`), amount }
    })
    const { status, body } = await rails.post('/api/blockchain/batches', { items })
    expect(status).to.equal(400)
    const details = body['details'] as Record<string, string>[]
    expect(details.map(({ field, code }) => [field, code])).to.deep.equal([
      ['items.1.amount', 'limit_per_transaction'],
      ['items.3.amount', 'limit_per_transaction'],
    ])
  })

  it('are not held for what goes from wallet to wallet, or is burnt by its holder', async () => {
    for (const way of ['wire', 'withdrawal'] as const) {
      await limit(money.db, { way, currency: 'USD', perDay: 0n })
    }
    const [source, to] = [money.main, money.second].map((id) => {
      return { type: 'wallet', id: String(id) }
    })
    const moved = await money.post('/v1/transfers', { amount: '1', source, destination: to })
    expect(moved.status).to.equal(201)
    const holder = { type: 'blockchain', chain: 'ETH' }
    const redeem = { amount: '1', source: holder, destination: { type: 'wire' } }
    expect((await money.post('/v1/transfers', redeem)).status).to.equal(201)
  })
})
