import { expect } from 'chai'

import { systemClock } from '../../../src/base/clock.ts'
import { feeOf, readReceipt } from '../../../src/chain/answers.ts'
import { findRollupFee } from '../../../src/chain/read/rollup-fee.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { answering, uint } from '../../fixtures/chain/token-code.ts'

const ORACLE = '0x420000000000000000000000000000000000000F'
const never = new AbortController().signal

describe('what a rollup charges beside the gas', () => {
  describe('is asked of the chain before a payment', () => {
    let chain: TestChain
    before(async () => (chain = await startChain()))
    after(() => chain.stop())

    const find = (code: `0x${string}`) => {
      const { url } = chain
      const params = [ORACLE, code]
      const providers = createProviders({
        urls: [url],
        chainId: 31_337,
        clock: systemClock,
        random: () => 0,
      })
      return callRpc({ url, method: 'anvil_setCode', params }).then(() =>
        findRollupFee(providers, never),
      )
    }

    it('and is nothing where the chain has no contract that knows it', async () => {
      expect(await find('0x')).to.equal(undefined)
    })

    it('as the upper bound, with room for L1, and the fee of the operator', async () => {
      const bound = { 'getL1FeeUpperBound(uint256)': uint(1000n), 'getL1Fee(bytes)': uint(1n) }
      const fjord = await find(answering(bound))
      expect(await fjord?.({ bytes: 400, gas: 60_000n }, never)).to.equal(1500n)
      const isthmus = await find(answering({ ...bound, 'getOperatorFee(uint256)': uint(7n) }))
      expect(await isthmus?.({ bytes: 400, gas: 60_000n }, never)).to.equal(1507n)
    })

    it('by its bytes on a chain from before the bound', async () => {
      const ecotone = await find(answering({ 'getL1Fee(bytes)': uint(40n) }))
      expect(await ecotone?.({ bytes: 400, gas: 60_000n }, never)).to.equal(60n)
    })
  })

  describe('is read from the receipt', () => {
    const feeIn = (fields: Record<string, unknown>): bigint =>
      feeOf(readReceipt({ ...RECEIPT, ...fields }))

    it('as the fee for L1', () => {
      expect(feeIn({})).to.equal(1_000_000n)
      expect(feeIn({ l1Fee: '0x2353d65', l1GasUsed: '0x640' })).to.equal(38_043_557n)
      // A node that serves several chains says null.
      expect(feeIn({ l1Fee: null, operatorFeeScalar: null })).to.equal(1_000_000n)
    })

    it('with the fee of the operator, by the formula of its fork', () => {
      const operator = { operatorFeeScalar: '0x12c', operatorFeeConstant: '0x190' }
      // 100,000 gas: 300 millionths for each since Isthmus, 300 hundreds of wei since Jovian.
      expect(feeIn(operator)).to.equal(1_000_000n + 30n + 400n)
      const jovian = { ...operator, daFootprintGasScalar: '0x94' }
      expect(feeIn(jovian)).to.equal(1_000_000n + 3_000_000_000n + 400n)
    })

    it('and is nothing of a deposit, which L1 has paid for', () => {
      const deposit = {
        type: '0x7e',
        effectiveGasPrice: '0x0',
        l1Fee: '0x5',
        operatorFeeScalar: '0x1',
      }
      expect(feeIn(deposit)).to.equal(0n)
      // As anvil writes it.
      expect(feeIn({ ...deposit, type: '0x7E' })).to.equal(0n)
      expect(feeIn({ ...deposit, type: null })).to.equal(5n)
    })

    it('and nothing on Arbitrum, whose gas has it', () => {
      expect(feeIn({ gasUsedForL1: '0x2c906', l1BlockNumber: '0x1323b96' })).to.equal(1_000_000n)
    })
  })
})

const HASH = `0x${'11'.repeat(32)}`
const RECEIPT = {
  type: '0x2',
  transactionHash: HASH,
  blockHash: HASH,
  blockNumber: '0x1',
  status: '0x1',
  gasUsed: '0x186a0',
  effectiveGasPrice: '0xa',
  from: `0x${'22'.repeat(20)}`,
  to: null,
  logs: [],
}
