import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { blockchainBalanceEndpoint } from '../../../../src/api/endpoints/api/blockchain/balance.ts'
import { batchEndpoints } from '../../../../src/api/endpoints/api/blockchain/batches.ts'
import { blockchainCreateEndpoint } from '../../../../src/api/endpoints/api/blockchain/transactions.ts'
import { transactionDetailEndpoint } from '../../../../src/api/endpoints/api/transactions/detail.ts'
import { selectorOf } from '../../../../src/chain/read/events.ts'
import type { Hex } from '../../../../src/domain/orders.ts'
import type { Token } from '../../../../src/domain/tokens.ts'
import { recordMoves } from '../../../../src/sender/record.ts'
import type { Sender } from '../../../../src/sender/sender.ts'
import { findOrderOf } from '../../../../src/store/orders/orders.ts'
import { EXPORTS } from '../../../../src/store/transactions/exports.ts'
import { addressFrom, adminOf, placeDollar, toHex } from '../../../engines/sim/world.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api, type ApiAnswer } from '../../../fixtures/api/api.ts'
import { paymentsOf } from '../../../fixtures/books/payments.ts'
import { runOnce, runsDeps } from '../../../fixtures/books/runs.ts'
import { createBench, type Bench } from '../../../fixtures/books/sender-bench.ts'
import { permittedDollarAt } from '../../../fixtures/books/tokens.ts'
import { buildContracts } from '../../../fixtures/contracts/hardhat.ts'
import { placeMock, placeUsdc } from '../../../fixtures/contracts/placed.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

describe('payments in tokens', () => {
  let bench: Bench
  let sender: Sender
  let api: Api
  let tokens: Token[]
  let payer: Hex
  let user: Awaited<ReturnType<typeof makeUser>>

  before(buildContracts)

  beforeEach(async () => {
    bench = await createBench()
    const { db, world, signers } = bench
    payer = signers.addresses[0]!
    const dollar = await placeDollar(world, { minter: payer, allowance: 10n ** 12n })
    const mocks = 'HostileTokens.sol'
    const open = await placeMock(world, { file: mocks, name: 'OpenToken' })
    const mute = await placeMock(world, { file: mocks, name: 'NoReturnToken' })
    tokens = [
      await permittedDollarAt(world, dollar),
      { currency: 'OPEN', address: open, symbol: 'OPEN', decimals: 18, permitDomain: undefined },
      { currency: 'MUTE', address: mute, symbol: 'MUTE', decimals: 8, permitDomain: undefined },
      await placeOwnUsdc(),
    ]
    sender = bench.sender({ onMoved: recordMoves, stablecoin: dollar, tokens })
    const mint = { route: 'mint', payer, payee: signers.addresses[1]!, amount: 10n ** 9n } as const
    await sender.pay(bench.requestOf(mint), bench.signal)
    // The other address pays from here on, since nobody mints to themselves.
    payer = signers.addresses[1]!
    await send(open, 'mint(address,uint256)', payer, toHex(10n ** 21n))
    await send(mute, 'mint(address,uint256)', payer, toHex(10n ** 11n))
    await finish()
    user = await makeUser(db)
    const payments = {
      ...paymentsOf(bench, sender, () => Promise.resolve(payer), tokens),
      tokensOf: async (holder: Hex) =>
        Promise.all(
          tokens.map(async (token) => ({ token, amount: await held(token.address, holder) })),
        ),
    }
    api = await startApi({
      endpoints: [
        blockchainCreateEndpoint({ chains: oneChain({ payments }), randomBytes }),
        blockchainBalanceEndpoint({ chains: oneChain({ payments }) }),
        ...batchEndpoints({ chains: oneChain({ payments }), randomBytes }),
        transactionDetailEndpoint,
      ],
      hooks: {
        db,
        authenticate: () => Promise.resolve(callerOf(user)),
        idempotently: createIdempotently({ db }),
      },
    })
  })
  afterEach(() => api.close())
  after(() => bench.stop())

  /** As the first account of the node. */
  const send = async (to: Hex, signature: string, ...words: Hex[]) => {
    const [from] = (await bench.world.rpc('eth_accounts')) as [Hex]
    const data = selectorOf(signature) + words.map((one) => one.slice(2).padStart(64, '0')).join('')
    await bench.world.rpc('eth_sendTransaction', [{ from, to, data }])
    await bench.world.mine(1)
  }

  /** USDC's shape, whose owner is the first account; it gives the payers some. */
  const placeOwnUsdc = async (): Promise<Token> => {
    const { world, signers } = bench
    const address = await placeUsdc(world)
    const [owner] = (await world.rpc('eth_accounts')) as [Hex]
    await send(address, 'configureMinter(address,uint256)', owner, toHex(10n ** 12n))
    await send(address, 'mint(address,uint256)', signers.addresses[1]!, toHex(10n ** 9n))
    const { permitDomain } = await permittedDollarAt(world, address)
    return { currency: 'USDC', address, symbol: 'USDC', decimals: 6, permitDomain }
  }

  const held = async (token: Hex, holder: Hex): Promise<bigint> => {
    const data = selectorOf('balanceOf(address)') + holder.slice(2).padStart(64, '0')
    return BigInt(String(await bench.world.rpc('eth_call', [{ to: token, data }, 'latest'])))
  }

  const finish = async () => {
    for (let round = 0; round < 25 && !(await bench.isEmpty()); round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
    }
  }

  const addressOf = (currency: string): Hex =>
    tokens.find((one) => one.currency === currency)!.address

  const pay = (body: Record<string, unknown>): Promise<ApiAnswer> =>
    api.send({
      method: 'POST',
      url: '/api/blockchain/transactions',
      body: { to_address: addressFrom('tokens'), description: 'invoice 1', ...body },
    })

  const batch = (body: Record<string, unknown>): Promise<ApiAnswer> =>
    api.send({ method: 'POST', url: '/api/blockchain/batches', body })

  const detailOf = async ({ body }: ApiAnswer) =>
    (await api.send({ url: `/api/transactions/${String(body['transaction_id'])}` })).body

  const routeOf = async ({ body }: ApiAnswer) =>
    (await findOrderOf(bench.db, String(body['transaction_id'])))?.route

  const problemsOf = ({ body }: ApiAnswer) =>
    (body['details'] as { field: string; code: string }[]).map(({ field, code }) => [field, code])

  const CASES = [
    { currency: 'OPEN', amount: '1.000000000000000001', units: 10n ** 18n + 1n, way: 'token' },
    { currency: 'MUTE', amount: '2.00000001', units: 200_000_001n, way: 'token' },
    { currency: 'USDC', amount: '3.000001', units: 3_000_001n, way: 'permit' },
    { currency: 'USD', amount: '4.05', units: 4_050_000n, way: 'permit' },
  ] as const

  it('move exactly what was asked for, plainly and through the contract', async () => {
    for (const { currency, amount, units, way } of CASES) {
      for (const use_contract of [false, true]) {
        const to_address = addressFrom(`tokens ${currency} ${use_contract}`)
        const before = await held(addressOf(currency), to_address)
        const paid = await pay({ to_address, amount, currency, use_contract })
        expect(paid.status, JSON.stringify(paid.body)).to.equal(201)
        expect(paid.body).to.include({ amount_decimal: amount, currency })
        expect(paid.body).not.to.have.property('amount_wei')
        expect(await routeOf(paid)).to.equal(use_contract ? way : 'transfer')
        await finish()
        const detail = await detailOf(paid)
        expect(detail).to.include({ status: 'completed', amount_decimal: amount, currency })
        const chain = detail['blockchain_transaction'] as Record<string, unknown>
        expect(chain).to.include({ status: 'confirmed', amount_decimal: amount })
        expect(chain['reference'] !== null).to.equal(use_contract)
        expect((await held(addressOf(currency), to_address)) - before).to.equal(units)
      }
    }
    const { body } = await api.send({ url: '/api/blockchain/balance' })
    const shown = (body['tokens'] as Record<string, unknown>[]).map((one) => one['currency'])
    expect(shown).to.deep.equal(['USD', 'OPEN', 'MUTE', 'USDC'])
    expect((body['tokens'] as Record<string, unknown>[])[1]).to.deep.include({
      symbol: 'OPEN',
      decimals: 18,
      balance_units: String(10n ** 21n - 2n * (10n ** 18n + 1n)),
    })
    const { totals } = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    // Beside them, the mint.
    expect(totals).to.include({ records: 9, matched: 9, breaks: 0 })
    const span = { userId: user.id, from: new Date(0), to: new Date(Date.now() + 60_000) }
    const sums = new Map<string, bigint>()
    for await (const { openings, entries } of EXPORTS.transactions(bench.db, span)) {
      for (const { account, decimals } of openings) sums.set(account, BigInt(decimals))
      for await (const { account, change } of entries) {
        sums.set(`${account} sum`, (sums.get(`${account} sum`) ?? 0n) + change)
      }
    }
    expect(sums.get('OPEN')).to.equal(18n)
    expect(sums.get('OPEN sum')).to.equal(-2n * (10n ** 18n + 1n))
    expect(sums.get('MUTE sum')).to.equal(-2n * 2_000_000_010_000_000_000n)
  })

  it('go in batches, each item with the decimals of the token', async () => {
    for (const on_failure of ['all_or_nothing', 'each']) {
      const items = [1, 2, 3].map((place) => ({
        to_address: addressFrom(`tokens batch ${on_failure} ${place}`),
        amount: `0.00000000000000000${place}`,
      }))
      const body = { currency: 'OPEN', on_failure, items }
      const made = await api.send({ method: 'POST', url: '/api/blockchain/batches', body })
      expect(made.status, JSON.stringify(made.body)).to.equal(201)
      expect(made.body).to.include({ amount_decimal: '0.000000000000000006', currency: 'OPEN' })
      await finish()
      const url = `/api/blockchain/batches/${String(made.body['batch_id'])}`
      const read = (await api.send({ url })).body
      expect(read).to.include({ status: 'completed', amount_decimal: '0.000000000000000006' })
      const [first] = read['items'] as Record<string, unknown>[]
      expect(first).to.include({ amount_decimal: '0.000000000000000001', currency: 'OPEN' })
      expect(await held(addressOf('OPEN'), items[2]!.to_address)).to.equal(3n)
    }
  })

  it('are refused in a currency that nobody configured, which names those that are', async () => {
    for (const currency of ['EURC', 'usd', 'EUR']) {
      const refused = await pay({ amount: '1', currency })
      expect(refused.status).to.equal(400)
      expect(refused.body['code']).to.equal('invalid_request')
      expect(problemsOf(refused)).to.deep.equal([['currency', 'currency_unknown']])
      expect(JSON.stringify(refused.body)).to.include('ETH, USD, OPEN, MUTE, USDC')
    }
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('are refused with more decimals than the token has, and not rounded to nothing', async () => {
    const cases = { OPEN: 19, MUTE: 9, USDC: 7, USD: 3 }
    for (const [currency, decimals] of Object.entries(cases)) {
      const amount = `0.${'0'.repeat(decimals - 1)}1`
      const refused = await pay({ amount, currency, use_contract: true })
      expect(refused.status).to.equal(400)
      // No amount of anything has more than 18.
      const code = currency === 'OPEN' ? 'amount_not_decimal' : 'amount_too_precise'
      expect(problemsOf(refused)).to.deep.equal([['amount', code]])
      const nothing = await pay({ amount: '0', currency })
      expect(problemsOf(nothing)).to.deep.equal([['amount', 'amount_not_positive']])
    }
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('are refused to a frozen payee, which names the field', async () => {
    const payee = addressFrom('tokens frozen')
    const asAdmin = await adminOf(bench.world, addressOf('USD'))
    await asAdmin('freeze(address)', payee)
    await send(addressOf('USDC'), 'setBlocked(address,bool)', payee, '0x1')
    const reasons = { USD: 'has frozen', USDC: 'account is blacklisted' }
    for (const [currency, reason] of Object.entries(reasons)) {
      for (const use_contract of [false, true]) {
        const refused = await pay({ to_address: payee, amount: '1', currency, use_contract })
        expect(refused.status).to.equal(400)
        expect(refused.body['code']).to.equal('payment_would_fail')
        expect(problemsOf(refused)).to.deep.equal([['to_address', 'simulation_failed']])
        expect(refused.body['error']).to.include(reason)
      }
    }
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('are refused to a payer that is frozen, who is named, in batches too', async () => {
    const asAdmin = await adminOf(bench.world, addressOf('USD'))
    await asAdmin('freeze(address)', payer)
    await send(addressOf('USDC'), 'setBlocked(address,bool)', payer, '0x1')
    const item = { to_address: addressFrom('tokens of a frozen payer'), amount: '1' }
    for (const currency of ['USD', 'USDC']) {
      const answers = [
        await pay({ ...item, currency, use_contract: false }),
        await pay({ ...item, currency, use_contract: true }),
        await batch({ currency, on_failure: 'each', items: [item] }),
        await batch({ currency, on_failure: 'all_or_nothing', items: [item] }),
      ]
      for (const refused of answers) {
        expect(refused.status).to.equal(400)
        expect(refused.body['code']).to.equal('payment_would_fail')
        expect(problemsOf(refused)).to.deep.equal([])
        expect(String(refused.body['error']).toLowerCase()).to.include(`has frozen ${payer}`)
      }
    }
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('wait while the token is paused, in plain words', async () => {
    const asAdmin = await adminOf(bench.world, addressOf('USD'))
    await asAdmin('pause()')
    await send(addressOf('USDC'), 'setPaused(bool)', '0x1')
    for (const currency of ['USD', 'USDC']) {
      for (const use_contract of [false, true]) {
        const refused = await pay({ amount: '1', currency, use_contract })
        expect(refused.status).to.equal(503)
        expect(refused.body['code']).to.equal('unavailable')
        expect(refused.body['error']).to.include('The issuer has paused the token')
        expect(refused.headers['retry-after']).to.equal('1')
      }
    }
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('go by an allowance where the token asks the code that the payer has delegated', async () => {
    const file = 'Wallet1271.sol'
    const delegate = await placeMock(bench.world, { file, name: 'PlainDelegate' })
    await bench.world.rpc('anvil_setCode', [payer, `0xef0100${delegate.slice(2)}`])
    const to_address = addressFrom('tokens delegated')
    const before = await held(addressOf('USDC'), to_address)
    const paid = await pay({ to_address, amount: '1.5', currency: 'USDC', use_contract: true })
    expect(paid.status, JSON.stringify(paid.body)).to.equal(201)
    expect(await routeOf(paid)).to.equal('token')
    await finish()
    expect(await detailOf(paid)).to.include({ status: 'completed' })
    expect((await held(addressOf('USDC'), to_address)) - before).to.equal(1_500_000n)
    await bench.world.rpc('anvil_setCode', [payer, '0x'])
    const again = await pay({ to_address, amount: '1.5', currency: 'USDC', use_contract: true })
    expect(await routeOf(again)).to.equal('permit')
  })
})
