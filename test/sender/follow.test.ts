import { expect } from 'chai'

import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'

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
})
