import { expect } from 'chai'

import { checksummed, parseAddress } from '../../src/chain/hex.ts'

const MIXED = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const LOWER = MIXED.toLowerCase()

describe('an address', () => {
  it('is read in one case, or in the case of its checksum', () => {
    for (const text of [MIXED, LOWER, `0x${MIXED.slice(2).toUpperCase()}`]) {
      expect(parseAddress(text)).to.equal(LOWER)
    }
    expect(checksummed(LOWER)).to.equal(MIXED)
  })

  it('is not read where its case shows a slip, or where it is none', () => {
    const slip = MIXED.replace('aA', 'Aa')
    for (const text of [
      slip,
      MIXED.slice(2),
      LOWER.slice(0, -1),
      `${LOWER}0`,
      MIXED.replace('x', 'X'),
    ]) {
      expect(parseAddress(text)).to.equal(undefined)
    }
    expect(parseAddress(LOWER.replace('x', 'X'))).to.equal(undefined)
    expect(parseAddress(undefined)).to.equal(undefined)
    expect(parseAddress('0xno')).to.equal(undefined)
  })
})
