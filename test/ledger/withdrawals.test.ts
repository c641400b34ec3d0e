import { expect } from 'chai'
import { sql } from 'kysely'

import { holdingCall } from '../../src/chain/read/token.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { addressFrom, adminOf } from '../engines/sim/world.ts'
import {
  DOLLAR,
  listNotificationBodies,
  readLedger,
  startMoneyApi,
  type MoneyApi,
} from '../fixtures/books/money.ts'
import { createSupplyBench, type SupplyBench } from '../fixtures/books/supply-bench.ts'

type Shown = { id: string; status: string; errorCode: string | null }

describe('a withdrawal to a chain', () => {
  let chain: SupplyBench
  let money: MoneyApi
  let holder: Hex

  beforeEach(async () => {
    chain = await createSupplyBench()
    const { ledger, minting, withdrawing } = chain
    money = await startMoneyApi({
      ledger,
      minting: minting as never,
      withdrawing: withdrawing as never,
    })
    holder = addressFrom(`receiver beside ${chain.minter}`)
  })
  afterEach(() => money.api.close())
  after(() => chain.bench.stop())

  const ask = (amount: string, change: object = {}) =>
    money.post('/v1/transfers', {
      amount,
      source: { type: 'wallet', id: String(money.main) },
      destination: { type: 'blockchain', address: holder, chain: 'ETH', ...change },
    })
  const withdraw = async (amount: string) => {
    const { status, body } = await ask(amount)
    expect(status, JSON.stringify(body)).to.equal(201)
    return body['data'] as Shown
  }
  const read = async (id: string) =>
    (await money.get(`/v1/transfers/${id}`)).body['data'] as Shown & Record<string, unknown>
  const heldBy = async (address: Hex) => {
    const call = [{ to: chain.dollar, data: holdingCall(address) }, 'latest']
    return BigInt(String(await chain.bench.world.rpc('eth_call', call)))
  }
  const recorded = async () => {
    const { rows } = await sql<Record<string, unknown>>`
      select type, status, amount::text, currency, eth_transaction_hash is not null as "hasHash"
      from transactions order by id`.execute(money.db)
    return rows
  }
  const routes = async () => {
    const { rows } = await sql<{ route: string }>`
      select route from orders order by id`.execute(money.db)
    return rows.map(({ route }) => route)
  }
  const expectSolvent = async (supply: bigint) => {
    expect(await chain.solvency()).to.include({ supply, liability: supply, drift: 0n })
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  }
  it('is minted where the platform has nothing, and complete when that is final', async () => {
    const made = await withdraw('40.000001')
    expect(made.status).to.equal('pending')
    expect(await money.balanceOf(money.main)).to.equal('59.999999')
    await chain.settle()
    expect(await routes()).to.deep.equal(['mint'])
    expect(await read(made.id)).to.deep.include({
      status: 'complete',
      source: { type: 'wallet', id: String(money.main) },
    })
    expect(await heldBy(holder)).to.equal(40_000_001n)
    await expectSolvent(40_000_001n)
    const record = { type: 'withdrawal', status: 'completed', amount: '40.000001' }
    expect(await recorded()).to.deep.equal([{ ...record, currency: 'USD', hasHash: true }])
    const told = await listNotificationBodies(money.db)
    expect(told.map(({ status }) => status)).to.deep.equal(['pending', 'running', 'complete'])
  })

  it('is paid out of what the platform has, and then nothing more is owed', async () => {
    // The platform's own address pays; its dollars are minted for money of a wallet first.
    const destination = { type: 'blockchain', address: own(), chain: 'ETH' }
    await money.post('/v1/businessAccount/transfers', { amount: '50', destination })
    await chain.settle()
    await sendAll(own(), chain.minter, 50n * DOLLAR)
    const made = await withdraw('30')
    await chain.settle()
    expect(await routes()).to.deep.equal(['mint', 'allowance', 'token'])
    expect(await read(made.id)).to.include({ status: 'complete', errorCode: null })
    expect([await heldBy(holder), await heldBy(chain.minter)]).to.deep.equal([
      30n * DOLLAR,
      20n * DOLLAR,
    ])
    expect(await money.balanceOf(money.main)).to.equal('20.00')
    await expectSolvent(50n * DOLLAR)
    const { rows } = await sql<{ balance: bigint }>`
      select balance from accounts where kind = 'treasury'`.execute(money.db)
    expect(rows).to.deep.equal([{ balance: 30n * DOLLAR }])
  })

  const own = () => chain.bench.signers.addresses[1]!
  const sendAll = async (from: Hex, to: Hex, amount: bigint) => {
    const words = [to.slice(2), amount.toString(16)].map((word) => word.padStart(64, '0'))
    const data = `0xa9059cbb${words.join('')}`
    await chain.bench.world.rpc('anvil_impersonateAccount', [from])
    await chain.bench.world.rpc('eth_sendTransaction', [{ from, to: chain.dollar, data }])
    await chain.bench.world.mine(1)
  }

  it('gives the money back once where it fails, and says so in both lists', async () => {
    const made = await withdraw('40')
    await (
      await adminOf(chain.bench.world, chain.dollar)
    )('freeze(address)', holder)
    await chain.settle()
    expect(await read(made.id)).to.include({ status: 'failed', errorCode: 'reverted' })
    expect(await money.balanceOf(money.main)).to.equal('100.00')
    expect((await recorded()).map(({ type, status }) => [type, status])).to.deep.equal([
      ['withdrawal', 'failed'],
    ])
    await expectSolvent(0n)
  })

  it('is complete as soon as the supply shows it, before the sender knows', async () => {
    const made = await withdraw('40')
    await chain.bench.pass(chain.sender)
    await chain.bench.world.mine(4)
    while (await chain.watch.pass(chain.bench.signal)) continue
    expect(await read(made.id)).to.include({ status: 'complete' })
    expect((await recorded()).map(({ status }) => status)).to.deep.equal(['completed'])
    await chain.settle()
    expect((await recorded()).map(({ status }) => status)).to.deep.equal(['completed'])
    const told = await listNotificationBodies(money.db)
    expect(told.filter(({ status }) => status === 'complete')).to.have.length(1)
    await expectSolvent(40n * DOLLAR)
  })

  const refusals: ReadonlyArray<[string, string, object, number, number]> = [
    ['more than the wallet holds', '100.000001', {}, 400, 1093],
    ['an address that is none', '1', { address: '0x12' }, 400, 5014],
    ['the address of nobody', '1', { address: `0x${'0'.repeat(40)}` }, 400, 5014],
    ['another chain', '1', { chain: 'SOL' }, 400, 2005],
    ['no chain', '1', { chain: undefined }, 400, 2],
    ['seven decimals', '1.0000001', {}, 400, 2],
  ]
  for (const [what, amount, change, status, code] of refusals) {
    it(`is refused for ${what}, with nothing stored`, async () => {
      const { status: is, body } = await ask(amount, change)
      expect([is, body['code']], JSON.stringify(body)).to.deep.equal([status, code])
      expect(await money.balanceOf(money.main)).to.equal('100.00')
      expect([await recorded(), await routes()]).to.deep.equal([[], []])
    })
  }

  it('takes from a wallet what it holds once, of twenty that come at one time', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => ask('30')))
    const made = all.filter(({ status }) => status === 201)
    expect(made.length).to.be.within(1, 3)
    await chain.settle()
    expect(await heldBy(holder)).to.equal(BigInt(made.length) * 30n * DOLLAR)
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })
})
