import { expect } from 'chai'

import { codeOf } from '../../src/base/errors.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { selectorOf } from '../../src/chain/read/events.ts'
import type { Hex, Order } from '../../src/domain/orders.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { transact } from '../../src/store/database/transact.ts'
import { findOrderOf } from '../../src/store/orders/orders.ts'
import { addressFrom, placeDollar } from '../engines/sim/world.ts'
import { runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { limit, MILLIONTH } from '../fixtures/store/limits.ts'
import { expectFailure } from '../fixtures/errors.ts'

const SETTLEMENT = settlementAddress.toLowerCase() as Hex
const HELD = 1_000n

describe('paying in a token by two orders', () => {
  let bench: Bench
  let dollar: Hex
  let sender: Sender

  beforeEach(async () => {
    bench = await createBench()
    const minter = bench.signers.addresses[0]!
    dollar = await placeDollar(bench.world, { minter, allowance: 10n ** 9n })
    sender = bench.sender({ stablecoin: dollar })
    const mint = { route: 'mint', payer: minter, payee: payer(), amount: HELD } as const
    await sender.pay(bench.requestOf(mint), bench.signal)
    await finish()
  })
  after(() => bench.stop())

  const payer = () => bench.signers.addresses[1]!

  const finish = async () => {
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
    }
  }

  const order = async (
    route: 'token' | 'transfer' | 'allowance',
    parts: { payee?: Hex; amount?: bigint; by?: Sender } = {},
  ): Promise<Order> => {
    const { by = sender, ...rest } = parts
    const payee = route === 'allowance' ? SETTLEMENT : addressFrom('token')
    const request = { route, payer: payer(), payee, amount: 10n, ...rest }
    return (await by.pay(bench.requestOf(request), bench.signal)).order
  }

  const balanceOf = async (address: Hex): Promise<bigint> => {
    const data = selectorOf('balanceOf(address)') + address.slice(2).padStart(64, '0')
    return BigInt(String(await bench.world.rpc('eth_call', [{ to: dollar, data }, 'latest'])))
  }

  it('allows and pays, and reconciliation counts the payment alone', async () => {
    const payee = addressFrom('token paid')
    const before = await balanceOf(payee)
    const allowance = await order('allowance')
    const paid = await order('token', { payee })
    expect(paid).to.include({ contract: SETTLEMENT, token: dollar, amount: 10n })
    await finish()
    expect(await bench.stateOf(allowance)).to.equal('completed')
    expect(await bench.stateOf(paid)).to.equal('completed')
    expect((await balanceOf(payee)) - before).to.equal(10n)
    const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    // Beside it, the mint to the payer.
    expect(run.totals).to.include({ records: 2, matched: 2, breaks: 0 })
  })

  it('pays by a plain transfer, and reconciliation counts it', async () => {
    const payee = addressFrom('token moved')
    const before = await balanceOf(payee)
    const paid = await order('transfer', { payee })
    expect(paid).to.include({ contract: dollar, token: dollar, amount: 10n })
    await finish()
    expect(await bench.stateOf(paid)).to.equal('completed')
    expect((await balanceOf(payee)) - before).to.equal(10n)
    const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    expect(run.totals).to.include({ records: 2, matched: 2, breaks: 0 })
  })

  it('is not completed by a transfer that moved nothing', async () => {
    const paid = await order('transfer')
    const code = await bench.world.rpc('eth_getCode', [dollar, 'latest'])
    await bench.world.rpc('anvil_setCode', [dollar, '0x00'])
    await finish()
    await bench.world.rpc('anvil_setCode', [dollar, code])
    expect(await bench.stateOf(paid)).to.equal('failed')
  })

  const prepared = (route: 'token' | 'transfer', amount: bigint, by = sender) => {
    const withAllowance = route === 'token' ? { withAllowance: true as const } : {}
    const wanted = { route, payer: payer(), amount, ...withAllowance }
    return by.prepare(bench.db, bench.requestOf(wanted), bench.signal)
  }

  it('accepts a payment with its allowance, at two nonces in a row', async () => {
    const one = await prepared('token', 10n)
    const { order: paid } = await transact(bench.db, (db) => sender.accept(db, one))
    await finish()
    expect(await bench.stateOf(paid)).to.equal('completed')
    const allowance = await findOrderOf(bench.db, `${paid.subject}-allowance`)
    expect(allowance).to.include({ state: 'completed', amount: 10n, payee: SETTLEMENT })
  })

  it('accepts neither the allowance nor the payment where the payment is refused', async () => {
    await limit(bench.db, { currency: 'USD', perDay: 20n * MILLIONTH })
    const both = [await prepared('token', 20n), await prepared('token', 20n)]
    const results = await transact(bench.db, (db) => sender.acceptNew(db, both))
    expect(results.map(({ ok }) => ok)).to.deep.equal([true, false])
    expect(await findOrderOf(bench.db, `${both[1]!.subject}-allowance`)).to.equal(undefined)
    await finish()
    expect(await bench.stateOf((await findOrderOf(bench.db, both[0]!.subject))!)).to.equal(
      'completed',
    )
  })

  it('promises no token twice, together or one after the other', async () => {
    const three = [
      await prepared('transfer', 600n),
      await prepared('transfer', 600n),
      await prepared('transfer', 400n),
    ]
    const results = await transact(bench.db, (db) => sender.acceptNew(db, three.slice(0, 2)))
    expect(results.map((one) => one.ok || codeOf(one.error))).to.deep.equal([
      true,
      'insufficient_funds',
    ])
    const late = await prepared('transfer', 401n)
    const accepting = () => transact(bench.db, (db) => sender.accept(db, late))
    await expectFailure(accepting, 'insufficient_funds')
    await transact(bench.db, (db) => sender.accept(db, three[2]!))
    await finish()
    expect(await balanceOf(payer())).to.equal(0n)
  })

  it('fails without an allowance, and nothing is paid', async () => {
    const paid = await order('token')
    await finish()
    expect(await bench.stateOf(paid)).to.equal('failed')
    expect(await balanceOf(payer())).to.equal(HELD)
  })

  it('is not completed by a success without the event of the contract', async () => {
    await order('allowance')
    const paid = await order('token')
    const code = await bench.world.rpc('eth_getCode', [SETTLEMENT, 'latest'])
    await bench.world.rpc('anvil_setCode', [SETTLEMENT, '0x00'])
    await finish()
    await bench.world.rpc('anvil_setCode', [SETTLEMENT, code])
    expect(await bench.stateOf(paid)).to.equal('failed')
  })

  it('refuses what cannot be paid, and an allowance to anybody else', async () => {
    await expectFailure(() => order('token', { amount: HELD + 1n }), 'insufficient_funds')
    await expectFailure(() => order('token', { payee: dollar }), 'payee_is_contract')
    await expectFailure(() => order('token', { payee: SETTLEMENT }), 'payee_is_contract')
    const other = addressFrom('token other')
    await expectFailure(() => order('allowance', { payee: other }), 'payee_is_contract')
    const by = bench.sender()
    await expectFailure(() => order('token', { by }), 'stablecoin_not_configured')
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('counts what is paid, not what is allowed, and apart from what is minted', async () => {
    await limit(bench.db, { currency: 'USD', perDay: 20n * MILLIONTH })
    await order('allowance', { amount: 20n })
    await order('allowance', { amount: 20n })
    await order('token', { amount: 20n })
    await expectFailure(() => order('token', { amount: 1n }), 'limit_per_day')
    await expectFailure(() => order('transfer', { amount: 1n }), 'limit_per_day')
  })
})
