import { expect } from 'chai'

import { chainOf, type Chains } from '../../src/api/chains.ts'
import { readPaidIn } from '../../src/api/endpoints/api/blockchain/currencies.ts'
import type { Token } from '../../src/domain/tokens.ts'

const BASE = { chainId: 8453, name: 'base', code: 'BASE', coin: 'ETH' }
const POLYGON = { chainId: 137, name: 'polygon', code: 'MATIC', coin: 'POL' }
const CHAINS: Chains = { all: () => [BASE, POLYGON], waiting: () => [] }

describe('the chains of an installation', () => {
  it('are each found by their ids, and none stands for another one', () => {
    expect(chainOf(CHAINS, 137)).to.equal(POLYGON)
    expect(chainOf(CHAINS, 8453)).to.equal(BASE)
    expect(() => chainOf(CHAINS, 10)).to.throw('No provider of the chain 10 answers now')
  })

  it('are paid in their own coin, by its symbol or without a word', () => {
    const pol = { unit: { currency: 'POL', tokenDecimals: 18 }, token: undefined, isCoin: true }
    const ether = { unit: { currency: 'ETH' }, token: undefined, isCoin: true }
    expect(paidIn(POLYGON)).to.deep.equal(pol)
    expect(paidIn(POLYGON, 'POL')).to.deep.equal(pol)
    expect(paidIn(BASE)).to.deep.equal(ether)
    expect(paidIn(BASE, 'ETH')).to.deep.equal(ether)
    expect(paidIn(POLYGON, 'EURC')).to.deep.equal({
      unit: { currency: 'EURC', tokenDecimals: 6 },
      token: EURC.address,
      isCoin: false,
    })
  })

  it('refuse the coin of another chain, and name their own', () => {
    expect(() => paidIn(POLYGON, 'ETH')).to.throw('The coin of polygon is POL, not ETH. Send POL')
    expect(() => paidIn(BASE, 'POL')).to.throw('Use one of these: ETH, EURC')
  })
})

const EURC: Token = {
  currency: 'EURC',
  address: `0x${'1a'.repeat(20)}`,
  symbol: 'EURC',
  decimals: 6,
  permitDomain: undefined,
}

function paidIn(chain: typeof BASE, currency?: string) {
  return readPaidIn({ ...chain, payments: { tokens: [EURC] } }, currency)
}
