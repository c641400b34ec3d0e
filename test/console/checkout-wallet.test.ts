import { expect } from 'chai'
import { encodeFunctionData } from 'viem'

import { settlementAbi } from '../../src/bindings/abis.ts'
import { callOf } from '../../src/console/checkout-wallet.ts'

const [SETTLEMENT, TOKEN, PAYEE] = (['aa', 'bb', 'cc'] as const).map(
  (byte) => `0x${byte.repeat(20)}` as const,
) as [`0x${string}`, `0x${string}`, `0x${string}`]
const REFERENCE = `0x${'07'.repeat(32)}` as const

describe('what a wallet of the browser is asked to pay', () => {
  it('is the call that the link of the page names, in ETH', () => {
    const link =
      `ethereum:${SETTLEMENT}@11155111/settle?bytes32=${REFERENCE}&address=${PAYEE}` +
      '&value=250000000000000000'
    expect(callOf(link)).to.deep.equal({
      chainId: 11_155_111,
      to: SETTLEMENT,
      value: '0x3782dace9d90000',
      data: encodeFunctionData({
        abi: settlementAbi,
        functionName: 'settle',
        args: [REFERENCE, PAYEE],
      }),
    })
  })

  it('is the call that the link of the page names, in a token', () => {
    const link =
      `ethereum:${SETTLEMENT}@1/settleToken?bytes32=${REFERENCE}&address=${TOKEN}` +
      `&address=${PAYEE}&uint256=2500000`
    expect(callOf(link)).to.deep.include({
      value: '0x0',
      data: encodeFunctionData({
        abi: settlementAbi,
        functionName: 'settleToken',
        args: [REFERENCE, TOKEN, PAYEE, 2_500_000n],
      }),
    })
    const approve = callOf(`ethereum:${TOKEN}@1/approve?address=${SETTLEMENT}&uint256=1`)
    expect(approve?.data).to.equal(
      `0x095ea7b3${SETTLEMENT.slice(2).padStart(64, '0')}${'1'.padStart(64, '0')}`,
    )
  })

  it('is nothing where the link names no call that the page makes', () => {
    expect(callOf(`ethereum:${TOKEN}@1/transfer?address=${PAYEE}&uint256=1`)).to.equal(undefined)
    expect(callOf('https://example.com')).to.equal(undefined)
  })
})
