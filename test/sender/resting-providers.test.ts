import { expect } from 'chai'

import { GWEI } from '../engines/sim/world.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'

describe('the sender asks a provider that rests', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })
  after(() => bench.stop())

  const resting = (state: 'open' | 'paused') => {
    const calls: string[] = []
    const provider = bench.provider('resting', async (call, forward) => {
      calls.push(call.method)
      return forward(call)
    })
    const isPaused = state === 'paused'
    const circuit = state === 'open' ? 'open' : 'closed'
    return { calls, provider: { ...provider, state: () => ({ circuit, isPaused }) as const } }
  }

  for (const state of ['open', 'paused'] as const) {
    it(`nothing while it is ${state} and enough others are there`, async () => {
      const { calls, provider } = resting(state)
      const others = [bench.provider('one'), bench.provider('other')]
      const sender = bench.sender({ providers: [provider, ...others], quoteFees })
      await sender.pay(bench.requestOf({}), bench.signal)
      await bench.pass(sender)
      expect(calls).to.deep.equal([])
      expect(await bench.inPool()).to.equal(1)
    })
  }

  it('all the same where two must agree and there is one other', async () => {
    const { calls, provider } = resting('paused')
    const sender = bench.sender({ providers: [provider, bench.provider('other')] })
    await bench.pass(sender)
    expect(calls).to.include('eth_blockNumber')
  })
})

const quoteFees = () => Promise.resolve({ maxFeePerGas: 5n * GWEI, maxPriorityFeePerGas: GWEI })
