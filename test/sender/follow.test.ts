import { expect } from 'chai'
import { sql } from 'kysely'

import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { TEST_POLICY } from '../fixtures/books/sender.ts'

describe('a lane that is followed', () => {
  let bench: Bench

  before(async () => {
    bench = await createBench()
  })
  after(() => bench.stop())

  it('records what is above a payment that cannot be recorded', async () => {
    const [payer] = bench.signers.addresses
    const refused = await bench.pay({ payer })
    const orders = [await bench.pay({ payer }), await bench.pay({ payer })]
    await bench.pass()
    await bench.world.mine(1)
    const sender = bench.sender({
      onMoved: async (_db, moves) => {
        if (moves.some(({ order }) => order.id === refused.order.id)) throw new Error('no record')
      },
    })
    await bench.pass(sender)
    expect(await bench.stateOf(refused.order)).to.equal('accepted')
    for (const { order } of orders) expect(await bench.stateOf(order)).to.equal('mined')
    await bench.finish()
    expect(await bench.stateOf(refused.order)).to.equal('completed')
  })

  it('is left to the worker that took it meanwhile, and the others get their turn', async () => {
    const [payer, other] = bench.signers.addresses
    const taken = await bench.pay({ payer })
    const kept = await bench.pay({ payer: other })
    await bench.pass()
    await bench.world.mine(1)
    let isTaken = false
    const taking = bench.provider('taking', async (call, forward) => {
      if (call.method === 'eth_getTransactionReceipt' && !isTaken) {
        isTaken = true
        await sql`update lane_leases set fence = fence + 1 where signer = ${payer}`.execute(
          bench.db,
        )
      }
      return forward(call)
    })
    await bench.pass(bench.sender({ providers: [taking] }))
    expect(await bench.stateOf(taken.order)).to.equal('accepted')
    expect(await bench.stateOf(kept.order)).to.equal('mined')
    bench.clock.advance(TEST_POLICY.leaseMs)
    await bench.finish()
    expect(await bench.stateOf(taken.order)).to.equal('completed')
  })
})
