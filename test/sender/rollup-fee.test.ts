import { expect } from 'chai'

import { codeOf } from '../../src/base/errors.ts'
import type { SizedTransaction } from '../../src/chain/read/rollup-fee.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { readLaneLoads } from '../../src/store/orders/orders.ts'
import { addressFrom, CHAIN_ID, ETHER, toHex } from '../engines/sim/world.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { expectFailure } from '../fixtures/errors.ts'

/** Of a signer that has a thousand. */
const CHARGED = 100n * ETHER

// The sender on a rollup
// ├── refuses what the balance carries without the rollup's fee alone, at once and in its lane
// ├── owes the fee until the payment is mined, also of a replacement
// ├── records what was charged
// └── refuses nothing on another chain
describe('the sender on a rollup', () => {
  let bench: Bench
  let sender: Sender
  let asked: SizedTransaction[]

  beforeEach(async () => {
    bench = await createBench()
    asked = []
    sender = bench.sender({
      readRollupFee: (of) => {
        asked.push(of)
        return Promise.resolve(CHARGED)
      },
    })
  })
  after(() => bench.stop())

  const pay = (amount: bigint, by = sender) => {
    const [payer] = bench.signers.addresses
    return by.pay(bench.requestOf({ payer, amount }), bench.signal)
  }

  it('refuses a payment whose fee for L1 the balance cannot carry', async () => {
    await expectFailure(() => pay(950n * ETHER), 'insufficient_funds')
    expect(asked).to.deep.equal([{ bytes: 124, gas: 21_000n }])
    const request = bench.requestOf({ payer: bench.signers.addresses[0], amount: 950n * ETHER })
    const preparing = () => sender.prepare(bench.db, request, bench.signal)
    await expectFailure(preparing, 'insufficient_funds')
    await pay(950n * ETHER, bench.sender())
  })

  it('counts the fee of what is on its way', async () => {
    await pay(400n * ETHER)
    const [signer] = bench.signers.addresses
    const loads = await readLaneLoads(bench.db, { chainId: CHAIN_ID, signers: [signer!] })
    expect(loads.get(signer!)?.owed).to.satisfy((owed: bigint) => owed > 500n * ETHER)
    await expectFailure(() => pay(450n * ETHER), 'insufficient_funds')
  })

  it('counts it once where the payment is replaced', async () => {
    const { order } = await pay(400n * ETHER)
    bench.clock.advance(20_000)
    await bench.world.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(9_000_000_000n)])
    for (let round = 0; round < 6; round++) await bench.pass(sender)
    expect(await listAttemptsOf(bench.db, order)).to.have.length.above(1)
    const [signer] = bench.signers.addresses
    const loads = await readLaneLoads(bench.db, { chainId: CHAIN_ID, signers: [signer!] })
    expect(loads.get(signer!)?.owed).to.satisfy(
      (owed: bigint) => owed > 500n * ETHER && owed < 501n * ETHER,
    )
  })

  it('asks by how long a transaction may get', async () => {
    const [payer] = bench.signers.addresses
    const payments = ['x', 'y', 'z'].map((name) => {
      return { subject: `TX${name}`, payee: addressFrom(name), amount: 1n }
    })
    const batch = {
      subject: 'B1',
      spender: 'user:1',
      way: 'chain',
      payer: payer!,
      payments,
    } as const
    const { feeWei } = await sender.estimateBatch(
      bench.db,
      { ...batch, route: 'bundle' },
      bench.signal,
    )
    expect(feeWei > CHARGED).to.equal(true)
    expect(asked.at(-1)?.bytes).to.equal(124 + 32 * (7 + 9))
  })

  it('records what the receipt says was charged', async () => {
    const l1Fee = 12_345n
    bench.intercept = async (call, forward) => {
      const answer = await forward(call)
      if (call.method !== 'eth_getTransactionReceipt' || answer === null) return answer
      return { ...(answer as object), l1Fee: toHex(l1Fee) }
    }
    const { order } = await bench.pay({ amount: 5n })
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
    const [attempt] = await listAttemptsOf(bench.db, order)
    expect(attempt?.block).to.include({ gasUsed: 21_000n, rollupFee: l1Fee })
  })

  it('says that it cannot tell where the chain does not', async () => {
    const silent = bench.sender({ readRollupFee: () => Promise.reject(new Error('silent')) })
    const failure: unknown = await pay(1n, silent).catch((error: unknown) => error)
    expect(codeOf(failure)).to.equal('chain_unreachable')
  })
})
