import { expect } from 'chai'
import { sql } from 'kysely'

import { createWithdrawing } from '../../src/app/ledger.ts'
import type { Withdrawals } from '../../src/base/config.ts'
import { holdingCall } from '../../src/chain/read/token.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { addressFrom, adminOf } from '../engines/sim/world.ts'
import { crashEverywhere, crashing } from '../fixtures/books/crash.ts'
import { DOLLAR, readLedger, startMoneyApi, type MoneyApi } from '../fixtures/books/money.ts'
import { createSupplyBench, type SupplyBench } from '../fixtures/books/supply-bench.ts'

/** The wallet holds 100 dollars, and the platform 50 that it has minted out of nothing of ours. */
describe('what a withdrawal is paid out of', () => {
  let chain: SupplyBench
  let money: MoneyApi
  let holder: Hex
  let crashes: ReturnType<typeof crashing>

  beforeEach(async () => {
    chain = await createSupplyBench()
    holder = addressFrom(`receiver beside ${chain.minter}`)
    await serve('holdings-then-mint')
  })
  afterEach(() => money.api.close())
  after(() => chain.bench.stop())

  const serve = async (withdrawals: Withdrawals) => {
    const { ledger, minting, sender, minter: platform, bench } = chain
    const { signal } = bench
    const withdrawing = createWithdrawing(
      { sender, platform },
      { withdrawals, hasSettlement: true, signal },
    )
    await money?.api.close()
    money = await startMoneyApi({
      ledger,
      minting: minting as never,
      withdrawing: withdrawing as never,
      through: (db) => (crashes = crashing(db)).db,
    })
    await chain.mintAside(platform, 50n * DOLLAR, `0x${'5a'.repeat(32)}`)
  }
  const ask = (amount: string, change: object = {}) =>
    money.post('/v1/transfers', {
      amount,
      source: { type: 'wallet', id: String(money.main) },
      destination: { type: 'blockchain', address: holder, chain: 'ETH' },
      ...change,
    })
  const withdraw = async (amount: string) => {
    const { status, body } = await ask(amount)
    expect(status, JSON.stringify(body)).to.equal(201)
    return (body['data'] as { id: string }).id
  }
  const statusOf = async (id: string) =>
    ((await money.get(`/v1/transfers/${id}`)).body['data'] as { status: string }).status
  const refused = async (amount: string) => {
    const { status, body } = await ask(amount)
    const { message, code, errors } = body as {
      message: string
      code: number
      errors?: { location: string }[]
    }
    return { message, is: [status, code, errors?.[0]?.location] }
  }
  const heldBy = async (address: Hex) => {
    const call = [{ to: chain.dollar, data: holdingCall(address) }, 'latest']
    return BigInt(String(await chain.bench.world.rpc('eth_call', call)))
  }
  const stored = async () => {
    const { rows } = await sql<{ orders: bigint; transfers: bigint; records: bigint }>`
      select (select count(*) from orders where route <> 'allowance') as orders,
        (select count(*) from transfers where kind = 'withdrawal') as transfers,
        (select count(*) from transactions where type = 'withdrawal') as records`.execute(money.db)
    return rows[0]!
  }
  const routes = async () => {
    const { rows } = await sql<{ route: string }>`
      select route from orders where route <> 'allowance' order by id`.execute(money.db)
    return rows.map(({ route }) => route)
  }
  const accounts = async () => {
    const { rows } = await sql<{ kind: string; balance: bigint }>`
      select kind, balance from accounts where wallet_id is null order by kind`.execute(money.db)
    const told = rows.map(({ kind, balance }) => [kind, balance / DOLLAR])
    return { stablecoin: 0n, ...Object.fromEntries(told) }
  }
  const expectNothingStored = async () => {
    expect(await stored()).to.deep.equal({ orders: 0n, transfers: 0n, records: 0n })
    expect(await money.balanceOf(money.main)).to.equal('100.00')
  }

  it('is minted where what the platform has is on its way to others', async () => {
    const [first, second] = [await withdraw('30'), await withdraw('30')]
    expect(await routes()).to.deep.equal(['token', 'mint'])
    await chain.settle()
    expect([await statusOf(first), await statusOf(second)]).to.deep.equal(['complete', 'complete'])
    expect(await heldBy(holder)).to.equal(60n * DOLLAR)
    expect(await heldBy(chain.minter)).to.equal(20n * DOLLAR)
    expect(await accounts()).to.include({ treasury: 30n, stablecoin: 30n })
    expect(await money.balanceOf(money.main)).to.equal('40.00')
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it('is refused by a platform that mints nothing, in words, and stores nothing', async () => {
    await serve('holdings')
    const tooMuch = await refused('50.000001')
    expect(tooMuch.is).to.deep.equal([400, 1076, 'amount'])
    expect(tooMuch.message).to.include('does not mint for withdrawals')
    await expectNothingStored()
    await withdraw('30')
    expect((await refused('30')).is, 'on their way').to.deep.equal([400, 1076, 'amount'])
    expect(await money.balanceOf(money.main)).to.equal('70.00')
    await chain.settle()
    expect(await heldBy(holder)).to.equal(30n * DOLLAR)
  })

  it('is a mint alone where it is set so', async () => {
    await serve('mint')
    const id = await withdraw('30')
    await chain.settle()
    expect([await routes(), await statusOf(id)]).to.deep.equal([['mint'], 'complete'])
    expect(await heldBy(chain.minter)).to.equal(50n * DOLLAR)
    expect(await accounts()).to.include({ treasury: 0n, stablecoin: 30n })
  })

  it('is refused to a payee that is frozen, and waits for a platform without ether', async () => {
    const asAdmin = await adminOf(chain.bench.world, chain.dollar)
    await asAdmin('freeze(address)', holder)
    expect((await refused('30')).is).to.deep.equal([400, 2, 'destination.address'])
    expect((await refused('60')).is, 'a mint').to.deep.equal([400, 2, 'destination.address'])
    await asAdmin('unfreeze(address)', holder)
    await chain.bench.world.rpc('anvil_setBalance', [chain.minter, '0x0'])
    expect((await refused('30')).is.slice(0, 2)).to.deep.equal([503, -1])
    await expectNothingStored()
  })

  it('is an alert for the operator where the platform itself is frozen', async () => {
    const asAdmin = await adminOf(chain.bench.world, chain.dollar)
    await asAdmin('freeze(address)', chain.minter)
    const { message, is } = await refused('30')
    expect(is.slice(0, 2)).to.deep.equal([503, 2005])
    expect(message.toLowerCase()).to.include(`has frozen ${chain.minter}`)
    const { rows } = await sql`select kind, signer from signer_alerts`.execute(money.db)
    expect(rows).to.deep.equal([{ kind: 'signer_frozen', signer: chain.minter }])
    await expectNothingStored()
    await asAdmin('unfreeze(address)', chain.minter)
    await withdraw('30')
  })

  it('comes back where its payee is frozen meanwhile, and owes nobody anything', async () => {
    const id = await withdraw('30')
    await (
      await adminOf(chain.bench.world, chain.dollar)
    )('freeze(address)', holder)
    await chain.settle()
    expect([await statusOf(id), await routes()]).to.deep.equal(['failed', ['token']])
    expect(await money.balanceOf(money.main)).to.equal('100.00')
    expect(await accounts()).to.include({ treasury: 0n, stablecoin: 0n })
    expect(await heldBy(chain.minter)).to.equal(50n * DOLLAR)
  })

  it('takes from a wallet what it holds, of a hundred that come at one time', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => ask('7')))
    const made = all.filter(({ status }) => status === 201)
    const others = all.filter(({ status }) => status !== 201)
    expect(made.length).to.be.within(1, 14)
    expect(others.every(({ status }) => [400, 503].includes(status))).to.equal(true)
    const count = BigInt(made.length)
    expect(await stored()).to.deep.equal({ orders: count, transfers: count, records: count })
    await chain.settle()
    await chain.settle()
    expect(await heldBy(holder)).to.equal(count * 7n * DOLLAR)
    expect(await money.balanceOf(money.main)).to.equal(`${100n - count * 7n}.00`)
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  }).timeout(180_000)

  it('is one for an idempotency key, wherever the program dies', async () => {
    const idempotencyKey = '0f9c2c5e-8f0d-4d5e-9d8a-3a7c1f1b2e4d'
    await crashEverywhere(
      crashes,
      async () => {
        const { status } = await ask('30', { idempotencyKey })
        if (status !== 201) throw new Error('died')
      },
      async () => {
        const { orders, transfers, records } = await stored()
        expect([transfers, records]).to.deep.equal([orders, orders])
        expect(orders <= 1n).to.equal(true)
      },
    )
    const again = await ask('30', { idempotencyKey })
    expect(again.status).to.equal(201)
    const other = await ask('31', { idempotencyKey })
    expect([other.status, other.body['code']]).to.deep.equal([409, 1083])
    expect(await stored()).to.deep.equal({ orders: 1n, transfers: 1n, records: 1n })
    expect(await money.balanceOf(money.main)).to.equal('70.00')
  }).timeout(120_000)
})
