import { expect } from 'chai'
import { assert, bigInt, property, record } from 'fast-check'

import { systemClock } from '../../src/base/clock.ts'
import {
  bumpFees,
  DEFAULT_FEE_POLICY,
  quoteFees,
  readFeeMarket,
  type FeePolicy,
} from '../../src/chain/fees.ts'
import { createProviders } from '../../src/chain/providers.ts'
import { startChain } from '../support/anvil.ts'
import { expectFailure } from '../support/errors.ts'
import { startNode } from '../support/scripted-node.ts'

const never = new AbortController().signal
const policy: FeePolicy = { ...DEFAULT_FEE_POLICY, minTip: 2n, maxTip: 100n, maxCost: 10n ** 30n }
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
    for (const history of bad) await expectFailure(() => read(history), 'fees_unreadable')
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

const market = record({
  baseFee: bigInt(0n, 10n ** 13n),
  tip: bigInt(policy.minTip, 10n ** 11n),
}).map((fees) => ({ ...fees, provider: 'node' }))
const gas = bigInt(21_000n, 1_000_000n)
const maxCost = bigInt(0n, 10n ** 19n)

describe('a quote of fees', () => {
  it('is twice the base fee and the tip', () => {
    const fees = quoteFees({
      market: { baseFee: 10n, tip: 3n, provider: '' },
      policy,
      gas: 21_000n,
    })
    expect(fees).to.deep.equal({ maxFeePerGas: 23n, maxPriorityFeePerGas: 3n })
  })

  it('costs at most what a transaction may, with less margin or a smaller tip', () => {
    const of = (cost: bigint) =>
      quoteFees({
        market: { baseFee: 10n, tip: 5n, provider: '' },
        policy: { ...policy, maxCost: cost },
        gas: 100n,
      })
    expect(of(1999n)).to.deep.equal({ maxFeePerGas: 19n, maxPriorityFeePerGas: 5n })
    expect(of(1300n)).to.deep.equal({ maxFeePerGas: 13n, maxPriorityFeePerGas: 3n })
    expect(of(1200n)).to.deep.equal({ maxFeePerGas: 12n, maxPriorityFeePerGas: 2n })
  })

  it('is refused when a transaction could not be mined for what it may cost', async () => {
    const tight = { ...policy, maxCost: 1199n }
    const quote = () =>
      quoteFees({ market: { baseFee: 10n, tip: 5n, provider: '' }, policy: tight, gas: 100n })
    const error = await expectFailure(quote, 'fees_above_cap')
    expect(error.details).to.deep.equal({ needed: '12', affordable: '11' })
  })

  it('never breaks its cap, whatever the market', () => {
    assert(
      property(market, gas, maxCost, (now, gas, maxCost) => {
        const capped = { ...policy, maxCost }
        try {
          const fees = quoteFees({ market: now, policy: capped, gas })
          expect(fees.maxFeePerGas * gas <= maxCost).to.equal(true)
          expect(fees.maxPriorityFeePerGas >= policy.minTip).to.equal(true)
          expect(fees.maxFeePerGas >= now.baseFee + fees.maxPriorityFeePerGas).to.equal(true)
        } catch (error) {
          expect((error as { code?: string }).code).to.equal('fees_above_cap')
          expect((now.baseFee + policy.minTip) * gas > maxCost).to.equal(true)
        }
      }),
    )
  })
})

describe('a bump of fees', () => {
  const last = record({ tip: bigInt(0n, 10n ** 11n), rest: bigInt(0n, 10n ** 13n) }).map(
    ({ tip, rest }) => ({ maxFeePerGas: tip + rest, maxPriorityFeePerGas: tip }),
  )

  it('raises both fees by 15 %, rounded up', () => {
    const bumped = bumpFees({
      last: { maxFeePerGas: 101n, maxPriorityFeePerGas: 7n },
      market: { baseFee: 1n, tip: 2n, provider: '' },
      policy,
      gas: 21_000n,
    })
    expect(bumped).to.deep.equal({ maxFeePerGas: 117n, maxPriorityFeePerGas: 9n })
  })

  it('follows a market that has moved further', () => {
    const bumped = bumpFees({
      last: { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n },
      market: { baseFee: 500n, tip: 20n, provider: '' },
      policy,
      gas: 21_000n,
    })
    expect(bumped).to.deep.equal({ maxFeePerGas: 1020n, maxPriorityFeePerGas: 20n })
  })

  it('raises by 15 % and stays within the budget, or is none', () => {
    let bumps = 0
    assert(
      property(last, market, gas, maxCost, (last, now, gas, maxCost) => {
        const bumped = bumpFees({ last, market: now, policy: { ...policy, maxCost }, gas })
        if (bumped === undefined) {
          const least = { fee: last.maxFeePerGas, tip: last.maxPriorityFeePerGas }
          // No fee within the budget would have been 15 % more.
          const cheapest = (least.fee * 115n + 99n) / 100n
          expect(cheapest * gas > maxCost || maxCost / gas <= least.fee + 1n).to.equal(true)
          return
        }
        bumps += 1
        expect(bumped.maxFeePerGas * 100n >= last.maxFeePerGas * 115n).to.equal(true)
        const tips = [bumped.maxPriorityFeePerGas * 100n, last.maxPriorityFeePerGas * 115n] as const
        expect(tips[0] >= tips[1]).to.equal(true)
        expect(bumped.maxFeePerGas > last.maxFeePerGas).to.equal(true)
        expect(bumped.maxPriorityFeePerGas > last.maxPriorityFeePerGas).to.equal(true)
        expect(bumped.maxPriorityFeePerGas <= bumped.maxFeePerGas).to.equal(true)
        expect(bumped.maxFeePerGas * gas <= maxCost).to.equal(true)
      }),
      { numRuns: 500 },
    )
    expect(bumps).to.be.greaterThan(50)
  })
})
