import { expect } from 'chai'

import { bumped, isPricedOut, offerOf } from '../../src/sender/fees.ts'

const fees = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
})

describe('the fees of an attempt', () => {
  it('are what the chain asks, up to the cap', () => {
    expect(offerOf(fees(10n, 2n), 100n)).to.deep.equal(fees(10n, 2n))
    expect(offerOf(fees(10n, 9n), 5n)).to.deep.equal(fees(5n, 5n))
  })

  it('grow by 15 % at least, rounded up, for a replacement', () => {
    const before = fees(101n, 1n)
    const found = bumped({ before, quote: fees(1n, 0n), maxFeePerGas: 1000n })
    expect(found).to.deep.equal(fees(117n, 2n))
  })

  it('grow from a tip of nothing', () => {
    const found = bumped({ before: fees(100n, 0n), quote: fees(1n, 0n), maxFeePerGas: 1000n })
    expect(found).to.deep.equal(fees(115n, 1n))
  })

  it('follow the quote where it is higher, and never pass the cap', () => {
    const before = fees(100n, 10n)
    const quote = fees(500n, 50n)
    expect(bumped({ before, quote, maxFeePerGas: 1000n })).to.deep.equal(quote)
    expect(bumped({ before, quote, maxFeePerGas: 115n })).to.deep.equal(fees(115n, 50n))
    expect(bumped({ before, quote, maxFeePerGas: 114n })).to.equal(undefined)
  })

  it('are priced out when twice of them is less than the quote', () => {
    expect(isPricedOut(fees(49n, 1n), fees(99n, 1n))).to.equal(true)
    expect(isPricedOut(fees(50n, 1n), fees(99n, 1n))).to.equal(false)
  })
})
