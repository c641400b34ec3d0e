import { expect } from 'chai'

import { systemClock } from '../../../src/base/clock.ts'
import { DEFAULT_FEE_POLICY, readFeeMarket, type FeePolicy } from '../../../src/chain/read/fees.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { startChain } from '../../fixtures/chain/anvil.ts'
import { startNode } from '../../fixtures/chain/scripted-node.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const never = new AbortController().signal
const policy: FeePolicy = { ...DEFAULT_FEE_POLICY, minTip: 2n, maxTip: 100n }
const over = (url: string) =>
  createProviders({ urls: [url], chainId: 31_337, clock: systemClock, random: () => 0 })

describe('the fee market', () => {
  const read = async (history: unknown) => {
    const node = await startNode(31_337, () => history)
    try {
      const market = await readFeeMarket(over(node.url), { policy, signal: never })
      return { baseFee: market.baseFee, tip: market.tip }
    } finally {
      await node.stop()
    }
  }

  it('is the base fee of the next block and the median of the tips', async () => {
    const history = {
      baseFeePerGas: ['0x10', '0x20', '0x30', '0x40'],
      reward: [['0xffff'], ['0x3'], ['0x5']],
    }
    expect(await read(history)).to.deep.equal({ baseFee: 64n, tip: 5n })
  })

  it('has a floor and a ceiling for the tip', async () => {
    const at = (reward: unknown) => read({ baseFeePerGas: ['0x1'], reward })
    expect((await at([['0x0']])).tip).to.equal(2n)
    expect((await at([['0x1000']])).tip).to.equal(100n)
    expect((await at(undefined)).tip).to.equal(2n)
  })

  it('is not guessed from an answer that cannot be read', async () => {
    const bad = [null, 'soon', {}, { baseFeePerGas: [] }, { baseFeePerGas: ['-1'] }]
    bad.push({ baseFeePerGas: ['0x1'], reward: [['NaN']] } as never)
    for (const history of bad) await expectFailure(() => read(history), 'chain_answer_unreadable')
  })

  it('is read from a real node', async () => {
    const chain = await startChain('--base-fee', '7000')
    try {
      const market = await readFeeMarket(over(chain.url), { policy, signal: never })
      // The next block after an empty one is an eighth cheaper.
      expect(Number(market.baseFee)).to.be.within(6125, 7000)
    } finally {
      await chain.stop()
    }
  })
})
