import { expect } from 'chai'

import { chargesOf } from '../../src/app/charges.ts'
import { DEFAULT_FEE_POLICY, ROLLUP_FEE_POLICY } from '../../src/chain/read/fees.ts'
import { expectFailure } from '../fixtures/errors.ts'

const { signal } = new AbortController()

describe('how a chain charges', () => {
  const chain = (code: string) => ({
    ask: () => Promise.resolve({ result: code, provider: 'one' }),
  })
  const [withOracle, without] = [chain('0x60'), chain('0x')]
  const of = (providers: typeof without, stack?: 'ethereum' | 'op' | 'arbitrum') =>
    chargesOf(providers, { stack, name: 'one' }, signal)

  it('is as the chain shows, where nothing is set', async () => {
    expect(await of(without)).to.deep.equal({
      readRollupFee: undefined,
      feePolicy: DEFAULT_FEE_POLICY,
    })
    const { readRollupFee, feePolicy } = await of(withOracle)
    expect(readRollupFee).to.be.a('function')
    expect(feePolicy).to.equal(ROLLUP_FEE_POLICY)
  })

  it('is as it is set, whatever the chain shows', async () => {
    expect((await of(withOracle, 'ethereum')).readRollupFee).to.equal(undefined)
    const arbitrum = { readRollupFee: undefined, feePolicy: ROLLUP_FEE_POLICY }
    expect(await of(without, 'arbitrum')).to.deep.equal(arbitrum)
  })

  it('stops the start where the OP stack is set and its contract is missing', async () => {
    expect((await of(withOracle, 'op')).readRollupFee).to.be.a('function')
    await expectFailure(() => of(without, 'op'), 'wrong_fees')
  })
})
