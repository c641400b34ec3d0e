import { expect } from 'chai'
import { sql } from 'kysely'

import type { Hex } from '../../src/domain/orders.ts'
import { REDEEM_MS } from '../../src/ledger/redeems.ts'
import { moveByWire } from '../../src/ledger/wires.ts'
import { countFindings } from '../../src/store/ledger/supply.ts'
import { findOrderOf } from '../../src/store/orders/orders.ts'
import { findWire } from '../../src/store/rails/wires.ts'
import { addressFrom, CHAIN_ID, placeDollar } from '../engines/sim/world.ts'
import {
  DOLLAR,
  listNotificationBodies,
  readLedger,
  startMoneyApi,
  type MoneyApi,
} from '../fixtures/books/money.ts'
import { runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createSupplyBench, type SupplyBench } from '../fixtures/books/supply-bench.ts'

type Shown = { id: string; status: string; redemption?: { reference: Hex; calldata: Hex } }

describe('the stablecoin of the ledger', () => {
  let chain: SupplyBench
  let money: MoneyApi
  let holder: Hex

  beforeEach(async () => {
    chain = await createSupplyBench()
    const { ledger, minting, burning } = chain
    money = await startMoneyApi({ ledger, minting: minting as never, burning: burning as never })
    holder = addressFrom(`holder of ${chain.minter}`)
  })
  afterEach(() => money.api.close())
  after(() => chain.bench.stop())

  const mint = async (amount: string, change: Record<string, unknown> = {}) => {
    const destination = { type: 'blockchain', address: holder, chain: 'ETH' }
    const url = '/v1/businessAccount/transfers'
    const { status, body } = await money.post(url, { amount, destination, ...change })
    expect(status, JSON.stringify(body)).to.equal(201)
    return body['data'] as Shown
  }
  const readMint = async (id: string) =>
    (await money.get(`/v1/businessAccount/transfers/${id}`)).body['data'] as Shown
  const redeem = async (amount: string, source: object = {}) => {
    const { status, body } = await money.post('/v1/transfers', {
      amount,
      source: { type: 'blockchain', chain: 'ETH', ...source },
      destination: { type: 'wire' },
    })
    expect(status, JSON.stringify(body)).to.equal(201)
    return body['data'] as Required<Shown>
  }
  const readRedeem = async (id: string) =>
    (await money.get(`/v1/transfers/${id}`)).body['data'] as Shown
  const wireOf = (subject: string) => findWire(money.db, { purpose: 'redeem', subject })
  const moveWire = (subject: string, state: 'paid' | 'returned') =>
    money.db.transaction().execute((open) => {
      const move = { purpose: 'redeem', subject, state, reference: 'FED', code: undefined } as const
      return moveByWire(chain.ledger, open, move)
    })
  const expectSolvent = async (supply: bigint) => {
    expect(await chain.solvency()).to.include({ supply, liability: supply, drift: 0n })
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  }
  const openBreaks = async () => {
    const { rows } = await sql<{ kind: string }>`
      select kind from breaks where state = 'open' order by kind`.execute(money.db)
    return rows.map(({ kind }) => kind)
  }
  /** Without the watch, which the token does not answer. */
  const passAll = async () => {
    for (let round = 0; round < 20 && !(await chain.bench.isEmpty()); round++) {
      await chain.bench.pass(chain.sender)
      await chain.bench.world.mine(1)
    }
  }
  const findings = async () => Object.fromEntries(await countFindings(money.db, CHAIN_ID))

  it('is compared for administrators only, and when there is something to compare', async () => {
    expect((await money.get('/api/solvency')).status).to.equal(403)
    expect((await money.get('/api/solvency', 'admin')).status).to.equal(503)
    await chain.settle()
    const { body } = await money.get('/api/solvency', 'admin')
    expect(body).to.deep.include({ holds: true, supply: '0.00', drift: '0.00', findings: [] })
  })

  it('is minted when the mint is final, and the ledger owes what the chain has', async () => {
    const made = await mint('40.000001')
    expect(made.status).to.equal('pending')
    expect(made)
      .to.have.property('transactionHash')
      .that.matches(/^0x[0-9a-f]{64}$/)
    expect(await money.balanceOf(money.main)).to.equal('59.999999')
    await chain.settle()
    expect(await readMint(made.id)).to.deep.include({
      status: 'complete',
      errorCode: null,
      source: { type: 'wallet', id: String(money.main) },
    })
    await expectSolvent(40_000_001n)
    const told = await listNotificationBodies(money.db)
    expect(told.map(({ status }) => status)).to.deep.equal(['pending', 'running', 'complete'])
    expect(await findings()).to.deep.equal({})
  })

  it('gives the money back once when the mint fails', async () => {
    const made = await mint('40')
    await chain.bench.world.rpc('anvil_setCode', [chain.dollar, '0x5f5ffd'])
    await passAll()
    expect(await readMint(made.id)).to.include({ status: 'failed', errorCode: 'reverted' })
    expect(await money.balanceOf(money.main)).to.equal('100.00')
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it('keeps the money of a mint that may be there, until its memo is seen', async () => {
    const { world } = chain.bench
    const made = await mint('40')
    const { reference } = (await findOrderOf(money.db, made.id))!
    const code = await world.rpc('eth_getCode', [chain.dollar, 'latest'])
    // A success without the events, which proves nothing.
    await world.rpc('anvil_setCode', [chain.dollar, '0x00'])
    await passAll()
    await world.rpc('anvil_setCode', [chain.dollar, code])
    expect((await findOrderOf(money.db, made.id))?.state).to.equal('failed')
    expect(await readMint(made.id)).to.include({ status: 'running', errorCode: null })
    expect(await money.balanceOf(money.main)).to.equal('60.00')
    await chain.mintAside(holder, 40n * DOLLAR, reference)
    await chain.settle()
    expect(await readMint(made.id)).to.include({ status: 'complete' })
    expect(await money.balanceOf(money.main)).to.equal('60.00')
    await expectSolvent(40n * DOLLAR)
  })

  it('refuses what the chain would refuse, and stores nothing', async () => {
    const url = '/v1/businessAccount/transfers'
    const destination = { type: 'blockchain', address: chain.minter, chain: 'ETH' }
    const { status, body } = await money.post(url, { amount: '1', destination })
    expect(status).to.equal(400)
    expect(body).to.include({ code: 5014 })
    expect(await money.balanceOf(money.main)).to.equal('100.00')
  })

  describe('that is at the caller’s own address', () => {
    const own = () => chain.bench.signers.addresses[1]!
    const custodial = { custodial: true }
    const ask = (amount: string, source: object) =>
      money.post('/v1/transfers', {
        amount,
        source: { type: 'blockchain', chain: 'ETH', ...source },
        destination: { type: 'wire' },
      })

    it('is redeemed by one call, and burnt by the platform', async () => {
      await mint('40', { destination: { type: 'blockchain', address: own(), chain: 'ETH' } })
      await chain.settle()
      const made = await redeem('25', custodial)
      expect(await findOrderOf(money.db, made.id)).to.include({
        route: 'burn',
        signer: own(),
        token: chain.dollar,
        amount: 25n * DOLLAR,
        reference: made.redemption.reference,
      })
      await chain.settle()
      expect(await readRedeem(made.id)).to.include({ status: 'running', errorCode: null })
      expect(await wireOf(made.id)).to.include({ amountMinor: 2500n, state: 'ordered' })
      await moveWire(made.id, 'paid')
      expect(await readRedeem(made.id)).to.include({ status: 'complete' })
      await expectSolvent(15n * DOLLAR)
      const run = await runOnce(runsDeps({ db: money.db, urls: [chain.bench.url] }))
      expect(run.totals).to.include({ records: 1, matched: 1, breaks: 0 })
    })

    it('is not promised where the address holds less', async () => {
      await mint('40', { destination: { type: 'blockchain', address: own(), chain: 'ETH' } })
      await chain.settle()
      expect((await ask('40.01', custodial)).body).to.include({ code: 1093 })
      await redeem('30', custodial)
      expect((await ask('10.01', custodial)).status).to.equal(400)
      const { rows } = await sql`select 1 from transfers where kind = 'redeem'`.execute(money.db)
      expect(rows).to.have.length(1)
    })

    it('fails at once where the burn fails', async () => {
      await mint('40', { destination: { type: 'blockchain', address: own(), chain: 'ETH' } })
      await chain.settle()
      const made = await redeem('25', custodial)
      const code = await chain.bench.world.rpc('eth_getCode', [chain.dollar, 'latest'])
      await chain.bench.world.rpc('anvil_setCode', [chain.dollar, '0x5f5ffd'])
      await passAll()
      await chain.bench.world.rpc('anvil_setCode', [chain.dollar, code])
      expect(await readRedeem(made.id)).to.include({ status: 'failed', errorCode: 'reverted' })
      expect(await wireOf(made.id)).to.equal(undefined)
    })

    it('is burnt from no other address, and for nothing but a redeem', async () => {
      await mint('40', { destination: { type: 'blockchain', address: own(), chain: 'ETH' } })
      await chain.settle()
      const { body } = await ask('1', { ...custodial, address: chain.minter })
      expect(body).to.include({ code: 2007 })
      const toWallet = await money.post('/v1/transfers', {
        amount: '1',
        source: { type: 'wallet', id: String(money.main), ...custodial },
        destination: { type: 'wallet', id: String(money.second) },
      })
      expect(toWallet.status).to.equal(400)
    })
  })

  it('is redeemed by a burn with the reference, and its wire is paid once', async () => {
    await mint('40')
    await chain.settle()
    const { id, redemption } = await redeem('15.50')
    expect(chain.wakes()).to.equal(0)
    expect(redemption).to.deep.include({
      chainId: CHAIN_ID,
      function: 'burnWithMemo(uint256,bytes32)',
    })
    await chain.burn({ holder, amount: 15_500_000n, memo: redemption.reference })
    expect((await readRedeem(id)).status).to.equal('pending')
    await chain.settle()
    expect(await readRedeem(id)).to.include({ status: 'running' })
    expect(await wireOf(id)).to.deep.include({ amountMinor: 1550n, state: 'ordered' })
    // It is sent now, and not when the bank's loop looks next.
    expect(chain.wakes()).to.equal(1)
    await expectSolvent(24_500_000n)
    await moveWire(id, 'paid')
    await moveWire(id, 'paid')
    expect(await readRedeem(id)).to.deep.include({ status: 'complete', errorCode: null })
    expect(await money.balanceOf(money.main)).to.equal('60.00')
    await chain.settle()
    await expectSolvent(24_500_000n)
    expect(await findings()).to.deep.equal({})
  })

  it('gives redeemed money to the wallet when the bank sends it back', async () => {
    await mint('40')
    await chain.settle()
    const { id, redemption } = await redeem('15')
    await chain.burn({ holder, amount: 15n * DOLLAR, memo: redemption.reference })
    await chain.settle()
    await moveWire(id, 'returned')
    await moveWire(id, 'returned')
    expect(await readRedeem(id)).to.include({ status: 'failed', errorCode: 'wire_returned' })
    expect(await money.balanceOf(money.main)).to.equal('75.00')
    await expectSolvent(25n * DOLLAR)
  })

  it('pays for a burn that is read before the sender has completed the mint', async () => {
    const made = await mint('40')
    await chain.bench.pass(chain.sender)
    await chain.bench.world.mine(1)
    const { id, redemption } = await redeem('15')
    await chain.burn({ holder, amount: 15n * DOLLAR, memo: redemption.reference })
    await chain.bench.world.mine(3)
    while (await chain.watch.pass(chain.bench.signal)) continue
    expect(await readRedeem(id)).to.include({ status: 'running' })
    expect(await wireOf(id)).to.include({ amountMinor: 1500n })
    expect(await findings()).to.deep.equal({})
    await chain.settle()
    expect(await readMint(made.id)).to.include({ status: 'complete' })
    const told = await listNotificationBodies(money.db)
    expect(told.filter(({ status }) => status === 'complete')).to.have.length(1)
    await expectSolvent(25n * DOLLAR)
  })

  it('makes a finding of every burn that is not as ordered, and pays none of them', async () => {
    await mint('50')
    await chain.settle()
    const wrongAmount = await redeem('10')
    await chain.burn({ holder, amount: 9n * DOLLAR, memo: wrongAmount.redemption.reference })
    const other = addressFrom(`other of ${chain.minter}`)
    const wrongHolder = await redeem('5', { address: other })
    await chain.burn({ holder, amount: 5n * DOLLAR, memo: wrongHolder.redemption.reference })
    await chain.burn({ holder, amount: DOLLAR, memo: `0x${'77'.repeat(32)}` })
    await chain.settle()
    expect(await findings()).to.deep.equal({ wrong_amount: 1, wrong_holder: 1, no_order: 1 })
    expect(await openBreaks()).to.deep.equal(['wrong_amount', 'wrong_recipient', 'wrong_reference'])
    for (const { id } of [wrongAmount, wrongHolder]) {
      expect(await wireOf(id)).to.equal(undefined)
      expect((await readRedeem(id)).status).to.equal('pending')
    }
    await expectSolvent(35n * DOLLAR)
  })

  it('pays the first of two burns for one redeem', async () => {
    await mint('50')
    const second = addressFrom(`second of ${chain.minter}`)
    await mint('5', { destination: { type: 'blockchain', address: second, chain: 'ETH' } })
    await chain.settle()
    const { id, redemption } = await redeem('5')
    await chain.burn({ holder, amount: 5n * DOLLAR, memo: redemption.reference })
    await chain.burn({ holder: second, amount: 5n * DOLLAR, memo: redemption.reference })
    await chain.settle()
    expect(await findings()).to.deep.equal({ doubled: 1 })
    expect((await readRedeem(id)).status).to.equal('running')
    const { rows } = await sql`select 1 from wires`.execute(money.db)
    expect(rows).to.have.length(1)
    await expectSolvent(45n * DOLLAR)
  })

  it('pays no burn of another token', async () => {
    await mint('50')
    await chain.settle()
    const { minter, bench } = chain
    const fake = await placeDollar(bench.world, { minter, allowance: 10n ** 15n })
    const { id, redemption } = await redeem('5')
    await chain.mintAside(holder, 5n * DOLLAR, `0x${'01'.repeat(32)}`, fake)
    await chain.burn({ holder, amount: 5n * DOLLAR, memo: redemption.reference, token: fake })
    await chain.settle()
    expect(await findings()).to.deep.equal({ wrong_token: 1 })
    expect((await readRedeem(id)).status).to.equal('pending')
    await expectSolvent(50n * DOLLAR)
  })

  it('ends a redeem that nobody burns for, and pays none that is burnt too late', async () => {
    await mint('50')
    await chain.settle()
    // The redeem of a day ago and a minute.
    chain.clock.advance(-REDEEM_MS - 60_000)
    const { id, redemption } = await redeem('5')
    await chain.burn({ holder, amount: 5n * DOLLAR, memo: redemption.reference })
    await chain.settle()
    expect(await findings()).to.deep.equal({ late: 1 })
    expect(await readRedeem(id)).to.include({ status: 'failed', errorCode: 'redemption_expired' })
    expect(await wireOf(id)).to.equal(undefined)
    await expectSolvent(45n * DOLLAR)
  })

  it('shows a drift when somebody mints beside the ledger', async () => {
    await mint('10')
    await chain.mintAside(holder, 3n * DOLLAR, `0x${'02'.repeat(32)}`)
    await chain.settle()
    expect(await findings()).to.deep.equal({ unknown_mint: 1 })
    expect(await chain.solvency()).to.include({ drift: 3n * DOLLAR, liability: 10n * DOLLAR })
    expect(await openBreaks()).to.deep.equal(['supply_drift', 'unknown_outgoing'])
    const { body } = await money.get('/api/solvency', 'admin')
    expect(body).to.deep.include({ holds: false, supply: '13.00', drift: '3.00' })
    expect(body['findings']).to.have.length(1)
    expect((body['findings'] as unknown[])[0]).to.include({
      finding: 'unknown_mint',
      kind: 'mint',
      amount: '3.00',
      transfer_id: null,
    })
  })

  it('closes the break of a drift that is over', async () => {
    await chain.mintAside(holder, 3n * DOLLAR, `0x${'03'.repeat(32)}`)
    await chain.settle()
    expect(await openBreaks()).to.deep.equal(['supply_drift', 'unknown_outgoing'])
    await chain.burn({ holder, amount: 3n * DOLLAR, memo: `0x${'04'.repeat(32)}` })
    await chain.settle()
    expect(await findings()).to.deep.equal({ unknown_mint: 1, no_order: 1 })
    expect(await chain.solvency()).to.include({ supply: 0n, liability: 0n, drift: 0n })
    const { rows } = await sql<{ drift: string | null }>`
      select evidence ->> 'drift' as drift from breaks
      where kind = 'supply_drift' and state = 'closed'`.execute(money.db)
    expect(rows).to.deep.equal([{ drift: '3.00' }])
  })

  it('counts each event once, however often and by however many it is read', async () => {
    await mint('50')
    await chain.settle()
    const { id, redemption } = await redeem('5')
    await chain.burn({ holder, amount: 5n * DOLLAR, memo: redemption.reference })
    await chain.settle()
    for (let time = 0; time < 2; time++) {
      await sql`delete from token_cursors`.execute(money.db)
      await Promise.all([chain.settle(), chain.settle()])
    }
    expect(await findings()).to.deep.equal({})
    expect((await readRedeem(id)).status).to.equal('running')
    await expectSolvent(45n * DOLLAR)
  })
})
