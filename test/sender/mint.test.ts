import { expect } from 'chai'
import { getAddress } from 'viem'

import { selectorOf, topicOf } from '../../src/chain/read/events.ts'
import type { Hex, Order } from '../../src/domain/orders.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { addressFrom, adminOf, placeDollar, toHex } from '../engines/sim/world.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { limit, MILLIONTH } from '../fixtures/store/limits.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('minting by an order', () => {
  let bench: Bench
  let dollar: Hex
  let sender: Sender

  beforeEach(async () => {
    bench = await createBench()
    dollar = await placeDollar(bench.world, { minter: minter(), allowance: ALLOWANCE })
    sender = bench.sender({ stablecoin: dollar })
  })
  after(() => bench.stop())

  const minter = () => bench.signers.addresses[0]!
  const mint = (request: { payee?: Hex; amount?: bigint; subject?: string } = {}) =>
    sender.pay(
      bench.requestOf({ route: 'mint', payer: minter(), amount: DOLLAR, ...request }),
      bench.signal,
    )
  const finish = async () => {
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
    }
  }
  const read = async (signature: string, ...words: string[]): Promise<bigint> => {
    const data =
      selectorOf(signature) + words.map((word) => word.slice(2).padStart(64, '0')).join('')
    return BigInt(String(await bench.world.rpc('eth_call', [{ to: dollar, data }, 'latest'])))
  }
  const stateOf = (order: Order) => bench.stateOf(order)

  it('mints once, with the reference of the order, and is completed by the events', async () => {
    const payee = addressFrom('mint plain')
    const { order } = await mint({ payee, subject: 'mint-1' })
    expect(order).to.include({ route: 'mint', contract: dollar, amount: DOLLAR })
    // Asked again, it is the same order.
    expect((await mint({ payee, subject: 'mint-1' })).order.id).to.equal(order.id)
    await finish()
    expect(await stateOf(order)).to.equal('completed')
    expect(await read('balanceOf(address)', payee)).to.equal(DOLLAR)
    expect(await read('totalSupply()')).to.equal(DOLLAR)
    expect(await read('isMemoUsed(address,bytes32)', '0x', order.reference)).to.equal(1n)
  })

  it('costs the minter gas and no ether, however much it mints', async () => {
    await bench.world.rpc('anvil_setBalance', [minter(), toHex(10n ** 16n)])
    const { order } = await mint({ amount: ALLOWANCE })
    await finish()
    expect(await stateOf(order)).to.equal('completed')
  })

  it('refuses what the token would refuse', async () => {
    const beyond = await expectFailure(
      () => mint({ amount: ALLOWANCE + 1n }),
      'mint_allowance_exceeded',
    )
    expect(beyond.message).to.include('1000.00 more').and.include('1000.000001 were requested')
    await expectFailure(() => mint({ amount: 0n }), 'amount_not_positive')
    await expectFailure(() => mint({ payee: dollar }), 'payee_is_contract')
    const stranger = bench.requestOf({ route: 'mint', payer: bench.signers.addresses[1]! })
    const missing = await expectFailure(() => sender.pay(stranger, bench.signal), 'minter_missing')
    expect(missing.message).to.include('is not a minter').and.include('configureMinter')
    const nowhere = bench.sender()
    const request = bench.requestOf({ route: 'mint', payer: minter() })
    await expectFailure(() => nowhere.pay(request, bench.signal), 'stablecoin_not_configured')
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('says what is true where the token refuses, and not that the payee does', async () => {
    const as = await adminOf(bench.world, dollar)
    const payee = addressFrom('frozen payee')
    await as('freeze(address)', payee)
    const frozen = await expectFailure(() => mint({ payee }), 'simulation_failed')
    expect(frozen.message).to.include(`the token has frozen ${getAddress(payee)}`)
    await as('pause()')
    const paused = await expectFailure(() => mint(), 'token_paused')
    expect(paused.message).to.include('The issuer has paused the token')
    await as('unpause()')
    await mint({ amount: ALLOWANCE })
    await finish()
    const usedUp = await expectFailure(() => mint(), 'mint_allowance_used_up')
    expect(usedUp.message).to.include('no allowance left').and.include(getAddress(minter()))
    await as('removeMinter(address)', minter())
    await expectFailure(() => mint(), 'minter_missing')
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('holds the limits on dollars apart from those on ether', async () => {
    const limits = { perTransaction: 3n * MILLIONTH, perDay: 4n * MILLIONTH }
    await limit(bench.db, { way: 'mint', currency: 'USD', ...limits })
    await expectFailure(() => mint({ amount: 4n }), 'limit_per_transaction')
    await mint({ amount: 3n })
    await expectFailure(() => mint({ amount: 2n }), 'limit_per_day')
    await mint({ amount: 1n })
    await sender.pay(bench.requestOf({ payer: minter(), amount: 1_000n }), bench.signal)
  })

  it('fails, and says so, when the token refuses in the block', async () => {
    const { order } = await mint({ amount: ALLOWANCE })
    // Paused between the simulation and the block: the same code, and another answer.
    await bench.world.rpc('anvil_setCode', [dollar, '0x5f5ffd'])
    await finish()
    expect(await stateOf(order)).to.equal('failed')
  })

  it('is not completed by a success without the events', async () => {
    const { order } = await mint()
    await bench.world.rpc('anvil_setCode', [dollar, '0x00'])
    await finish()
    expect(await stateOf(order)).to.equal('failed')
  })

  it('is not completed by the event without its fields', async () => {
    const { order } = await mint()
    // PUSH0 PUSH0, then LOG1 with the topic of the memo's event: right name, and no right fields.
    const forged = `0x7f${topicOf('TransferWithMemo').slice(2)}5f5fa100`
    await bench.world.rpc('anvil_setCode', [dollar, forged])
    await finish()
    expect(await stateOf(order)).to.equal('failed')
  })
})

const DOLLAR = 1_000_000n
const ALLOWANCE = 1_000n * DOLLAR
