import { expect } from 'chai'

import { coinOf, formatMoney, isCoinOf, nativeCoin } from '../../src/verify/coins.ts'

describe('the native coin of a payment', () => {
  it('has the name that it has on its chain', () => {
    const of = { chainId: 137n, state: undefined }
    expect(formatMoney(25n * 10n ** 17n, coinOf({ token: null }, of))).to.equal('2.5 POL')
    expect([1n, 8453n, 31_337n].map((id) => nativeCoin(id).symbol)).to.deep.equal(
      Array(3).fill('ETH'),
    )
  })

  it('cannot be told as that of another chain, nor as money that banks hold', () => {
    expect([isCoinOf(137n, 'POL'), isCoinOf(1n, 'ETH'), isCoinOf(77n, 'XDAI')]).to.not.include(
      false,
    )
    expect([isCoinOf(137n, 'ETH'), isCoinOf(1n, 'POL'), isCoinOf(77n, 'USD')]).to.not.include(true)
  })
})
