import { expect } from 'chai'

import { isRoutingNumber } from '../../src/domain/routing-numbers.ts'

describe('routing numbers', () => {
  it('accepts those of real banks', () => {
    for (const number of ['101050001', '021000021', '121000358', '091000022', '322271627']) {
      expect(isRoutingNumber(number), number).to.equal(true)
    }
  })

  it('refuses every slip of one digit, and every swap of two neighbours that differ', () => {
    const good = '021000021'
    for (let at = 0; at < good.length; at += 1) {
      for (let digit = 0; digit <= 9; digit += 1) {
        const slip = good.slice(0, at) + String(digit) + good.slice(at + 1)
        if (slip !== good) expect(isRoutingNumber(slip), slip).to.equal(false)
      }
    }
    expect(isRoutingNumber('201000021')).to.equal(false)
  })

  it('refuses what only sums up, and what has another form', () => {
    for (const text of ['500000005', '990000019', '02100002', '0210000210', '02100002a', '']) {
      expect(isRoutingNumber(text), text).to.equal(false)
    }
  })
})
