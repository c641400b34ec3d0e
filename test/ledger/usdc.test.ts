import { expect } from 'chai'
import { sql } from 'kysely'

import { createBurning, createOnMoved, createWithdrawing } from '../../src/app/ledger.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createFinal } from '../../src/chain/read/final.ts'
import { createIssuedReader } from '../../src/chain/read/issued.ts'
import { readStablecoin } from '../../src/chain/read/stablecoin.ts'
import { createProviders } from '../../src/chain/rpc/providers.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { createSupplyWatch, type SupplyWatch } from '../../src/ledger/watch-supply.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { countFindings, readSolvency } from '../../src/store/ledger/supply.ts'
import { listSignerAlerts } from '../../src/store/orders/signers.ts'
import { findWire } from '../../src/store/rails/wires.ts'
import { addressFrom, CHAIN_ID, toHex } from '../engines/sim/world.ts'
import {
  DOLLAR,
  ledgerOf,
  type TestLedger,
  readLedger,
  startMoneyApi,
  type MoneyApi,
} from '../fixtures/books/money.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { TEST_POLICY } from '../fixtures/books/sender.ts'
import { dollarAt } from '../fixtures/books/tokens.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { buildContracts } from '../fixtures/contracts/hardhat.ts'
import { callAs, placeUsdc } from '../fixtures/contracts/placed.ts'

type Shown = {
  id: string
  status: string
  transactionHash?: Hex
  redemption?: { function: string; calldata: Hex }
}

// USDC as the stablecoin
// ├── is known by its functions
// ├── of which the platform is a minter
// │   ├── is minted, known by the transaction; the ledger owes it, whatever others mint
// │   ├── is redeemed by what the holder sends back, once, from its own address and from another
// │   ├── a wrong amount, a second one and one too late are findings, and pay nobody
// │   ├── a holder is one user's
// │   ├── what comes back is burnt, and the sums hold
// │   └── withdrawals are minted
// └── of which it is none: mint and redeem are refused at once; a withdrawal is paid from holdings
describe('USDC as the stablecoin', () => {
  let bench: Bench
  let usdc: Hex
  let owner: Hex
  let platform: Hex
  let user: Hex
  let sender: Sender
  let ledger: TestLedger
  let watch: SupplyWatch
  let money: MoneyApi
  let isMinter: boolean

  before(buildContracts)
  beforeEach(async () => {
    bench = await createBench()
    const { world, signal, signers } = bench
    ;[platform, user] = signers.addresses as [Hex, Hex]
    ;[owner] = (await world.rpc('eth_accounts')) as [Hex]
    usdc = await placeUsdc(world)
    await callAs(world, owner, grant(platform))
    isMinter = true
    const issuer = { address: platform, isMinter: () => Promise.resolve(isMinter) }
    const stablecoin = { token: usdc, chainId: CHAIN_ID, profile: 'fiat_token' as const, issuer }
    ledger = ledgerOf({ stablecoin })
    sender = bench.sender({
      stablecoin: usdc,
      tokens: [dollarAt(usdc)],
      mintsPlainly: true,
      onMoved: createOnMoved(ledger),
    })
    const providers = createProviders({
      urls: [world.url],
      chainId: CHAIN_ID,
      clock: bench.clock,
      random: () => 0,
    })
    watch = createSupplyWatch({
      db: bench.db,
      context: ledger,
      stablecoin,
      clock: bench.clock,
      readFinal: createFinal({ providers, finality: TEST_POLICY.confirmations }),
      supply: createIssuedReader({ providers, token: usdc, issuer: platform }),
      logger: createLogger({ level: 'silent' }),
      pollIntervalMs: 100,
    })
    const paying = { sender, platform, payments: { addressOf: () => Promise.resolve(user) } }
    const minting = {
      prepare: (db: Bench['db'], mint: object) =>
        sender.prepare(
          db,
          { ...mint, way: 'mint', route: 'mint', payer: platform } as never,
          signal,
        ),
      accept: sender.accept,
      kick: sender.kick,
    }
    const from = { withdrawals: 'holdings-then-mint', hasSettlement: true, signal } as const
    money = await startMoneyApi({
      ledger,
      minting: minting as never,
      burning: createBurning(paying as never, { issuer, signal }) as never,
      withdrawing: createWithdrawing(paying, { ...from, stablecoin }) as never,
    })
    // What comes before the first look is not ours.
    await world.mine(3)
    await watch.pass(signal)
  })
  afterEach(() => money.api.close())
  after(() => bench.stop())

  const grant = (minter: Hex) => {
    return { to: usdc, call: ['configureMinter(address,uint256)', minter, 10n ** 15n] as Call }
  }
  const settle = async () => {
    for (let round = 0; round < 20; round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
      if (await bench.isEmpty()) break
    }
    await bench.world.mine(TEST_POLICY.confirmations as number)
    while (await watch.pass(bench.signal)) continue
  }
  const mint = async (amount: string, address: Hex) => {
    const destination = { type: 'blockchain', address, chain: 'ETH' }
    const url = '/v1/businessAccount/transfers'
    const { status, body } = await money.post(url, { amount, destination })
    expect(status, JSON.stringify(body)).to.equal(201)
    return body['data'] as Shown
  }
  const askRedeem = (amount: string, source: object, as?: 'bob') =>
    money.post(
      '/v1/transfers',
      {
        amount,
        source: { type: 'blockchain', chain: 'ETH', ...source },
        destination: { type: 'wire', name: 'Ada', addressLine1: '1 Main Street' },
      },
      as,
    )
  const redeem = async (amount: string, source: object) => {
    const { status, body } = await askRedeem(amount, source)
    expect(status, JSON.stringify(body)).to.equal(201)
    return body['data'] as Required<Shown>
  }
  const stateOf = async (id: string) =>
    ((await money.get(`/v1/transfers/${id}`)).body['data'] as Shown).status
  const sendBack = (holder: Hex, amount: bigint) => give(holder, platform, amount)
  const give = async (from: Hex, to: Hex, amount: bigint) => {
    await bench.world.rpc('anvil_setBalance', [from, toHex(10n ** 18n)])
    await callAs(bench.world, from, { to: usdc, call: ['transfer(address,uint256)', to, amount] })
  }
  const wireOf = (subject: string) => findWire(money.db, { purpose: 'redeem', subject })
  const findings = async () => Object.fromEntries(await countFindings(money.db, CHAIN_ID))
  const expectSolvent = async (out: bigint) => {
    const solvency = await readSolvency(bench.db, { chainId: CHAIN_ID, token: usdc })
    expect(solvency).to.include({ supply: out, liability: out, drift: 0n })
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  }
  const holderOf = (name: string) => addressFrom(`${name} ${usdc}`)

  it('is known by its functions', async () => {
    const providers = { all: [bench.provider('node')] } as never
    const facts = await readStablecoin(providers, { address: usdc })
    expect(facts).to.include({ symbol: 'USDC', decimals: 6, profile: 'fiat_token' })
  })

  it('is minted by its transaction, and owed whatever others mint', async () => {
    const holder = holderOf('holder')
    const { id, transactionHash } = await mint('40.000001', holder)
    await callAs(bench.world, owner, grant(owner))
    await callAs(bench.world, owner, {
      to: usdc,
      call: ['mint(address,uint256)', holder, 7n * DOLLAR],
    })
    await settle()
    const { body } = await money.get(`/v1/businessAccount/transfers/${id}`)
    expect(body['data']).to.include({ status: 'complete', transactionHash })
    await expectSolvent(40_000_001n)
    expect(await findings()).to.deep.equal({})
    const { rows } = await sql`
      select transfer_id::text as id, transaction_hash as hash from supply_events`.execute(money.db)
    expect(rows).to.deep.equal([{ id, hash: transactionHash }])
  })

  it('is a finding where our key minted what nobody ordered', async () => {
    await callAs(bench.world, platform, {
      to: usdc,
      call: ['mint(address,uint256)', holderOf('a friend'), 5n * DOLLAR],
    })
    await settle()
    expect(await findings()).to.deep.equal({ unknown_mint: 1 })
    const solvency = await readSolvency(bench.db, { chainId: CHAIN_ID, token: usdc })
    expect(solvency).to.include({ drift: 5n * DOLLAR })
  })

  it('is redeemed by what its holder sends back, once', async () => {
    const holder = holderOf('holder')
    await mint('40', holder)
    await settle()
    const { id, redemption } = await redeem('15.00', { address: holder })
    expect(redemption.function).to.equal('transfer(address,uint256)')
    expect(redemption.calldata.slice(34, 74)).to.equal(platform.slice(2))
    expect(await wireOf(id)).to.equal(undefined)
    await sendBack(holder, 15n * DOLLAR)
    await settle()
    expect(await stateOf(id)).to.equal('running')
    expect(await wireOf(id)).to.include({ amountMinor: 1500n })
    await expectSolvent(25n * DOLLAR)
    // The same money again is nobody's order.
    await sendBack(holder, 15n * DOLLAR)
    await settle()
    expect(await findings()).to.deep.equal({ doubled: 1 })
  })

  it('is redeemed from the caller’s own address at the platform', async () => {
    await mint('40', user)
    await settle()
    const { id } = await redeem('40.00', { custodial: true })
    await settle()
    expect(await stateOf(id)).to.equal('running')
    expect(await wireOf(id)).to.include({ amountMinor: 4000n })
    await expectSolvent(0n)
  })

  it('pays nobody for another amount, and nobody for what no redeem names', async () => {
    const holder = holderOf('holder')
    await mint('40', holder)
    await settle()
    const { id } = await redeem('15.00', { address: holder })
    await sendBack(holder, 14n * DOLLAR)
    await give(holder, holderOf('other'), 10n * DOLLAR)
    await sendBack(holderOf('other'), 10n * DOLLAR)
    await settle()
    expect(await stateOf(id)).to.equal('pending')
    expect(await wireOf(id)).to.equal(undefined)
    expect(await findings()).to.deep.equal({ wrong_amount: 1 })
  })

  it('is sent back by a holder who is named, and one user’s', async () => {
    const holder = holderOf('holder')
    expect((await askRedeem('15.00', {})).body).to.include({ code: 2 })
    await redeem('15.00', { address: holder })
    const stolen = await askRedeem('15.00', { address: holder }, 'bob')
    expect(stolen).to.have.property('status', 400)
    expect(stolen.body).to.include({ code: 5014 })
    await redeem('15.00', { address: holder })
  })

  it('is burnt by the platform, and the sums hold before and after', async () => {
    const holder = holderOf('holder')
    await mint('40', holder)
    await settle()
    await redeem('15.00', { address: holder })
    await sendBack(holder, 15n * DOLLAR)
    await settle()
    await expectSolvent(25n * DOLLAR)
    await callAs(bench.world, platform, { to: usdc, call: ['burn(uint256)', 15n * DOLLAR] })
    await settle()
    await expectSolvent(25n * DOLLAR)
    expect(await findings()).to.deep.equal({})
  })

  it('is minted for a withdrawal, though the platform holds what came back', async () => {
    const holder = holderOf('holder')
    await mint('40', holder)
    await settle()
    await redeem('15.00', { address: holder })
    await sendBack(holder, 15n * DOLLAR)
    await settle()
    const { status } = await withdraw('15.00')
    expect(status).to.equal(201)
    await settle()
    await expectSolvent(40n * DOLLAR)
  })

  const withdraw = (amount: string) =>
    money.post('/v1/transfers', {
      amount,
      source: { type: 'wallet', id: String(money.main) },
      destination: { type: 'blockchain', chain: 'ETH', address: holderOf('payee') },
    })

  it('is the operator’s to mend where it froze the platform, and the payee’s else', async () => {
    const freeze = (account: Hex, frozen: bigint) =>
      callAs(bench.world, owner, { to: usdc, call: ['setBlocked(address,bool)', account, frozen] })
    const mintTo = (payee: Hex) => {
      const request = bench.requestOf({ route: 'mint', payer: platform, payee, amount: DOLLAR })
      const preparing = () => sender.prepare(bench.db, request, bench.signal)
      return () => sender.own(bench.db, platform, preparing)
    }
    const alerts = async () => {
      const list = await listSignerAlerts(bench.db, { chainId: CHAIN_ID, signers: [platform] })
      return list.map(({ kind }) => kind)
    }
    await freeze(platform, 1n)
    await expectFailure(mintTo(holderOf('payee')), 'signer_frozen')
    expect(await alerts()).to.deep.equal(['signer_frozen'])
    await freeze(platform, 0n)
    await freeze(holderOf('payee'), 1n)
    await expectFailure(mintTo(holderOf('payee')), 'simulation_failed')
  })

  describe('of which the platform is no minter', () => {
    beforeEach(() => (isMinter = false))

    it('is neither minted nor redeemed, and the answer says why', async () => {
      const destination = { type: 'blockchain', address: holderOf('holder'), chain: 'ETH' }
      const url = '/v1/businessAccount/transfers'
      const refused = [
        await money.post(url, { amount: '1', destination }),
        await askRedeem('1.00', { address: holderOf('holder') }),
        await askRedeem('1.00', { custodial: true }),
      ]
      for (const { status, body } of refused) {
        expect(status).to.equal(400)
        expect(body).to.include({ code: 2005 })
        expect(body['message']).to.include('is not a minter').and.include('Its issuer')
      }
      const { rows } = await sql`select 1 from transfers`.execute(money.db)
      expect(rows).to.have.length(0)
      expect(await money.balanceOf(money.main)).to.equal('100.00')
    })

    it('is withdrawn out of what the platform holds, and no further', async () => {
      await callAs(bench.world, owner, grant(owner))
      const minted: Call = ['mint(address,uint256)', platform, 20n * DOLLAR]
      await callAs(bench.world, owner, { to: usdc, call: minted })
      expect((await withdraw('15.00')).status).to.equal(201)
      await settle()
      await expectSolvent(0n)
      const { status, body } = await withdraw('15.00')
      expect(status).to.equal(400)
      expect(body).to.include({ code: 1076 })
    })
  })
})

type Call = [string, ...(Hex | bigint)[]]
