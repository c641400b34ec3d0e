import { expect } from 'chai'
import { encodeAbiParameters, padHex, stringToHex, type Hex } from 'viem'

import { readWord } from '../../../src/chain/answers.ts'
import { readDecimals, readSymbol } from '../../../src/chain/read/token.ts'
import { uint } from '../../fixtures/chain/token-code.ts'

describe('what a token says of itself', () => {
  const text = (value: string) => encodeAbiParameters([{ type: 'string' }], [value])
  const words = (...values: (bigint | Hex)[]): Hex =>
    `0x${values.map((one) => (typeof one === 'bigint' ? uint(one) : one).slice(2)).join('')}`

  it('has decimals where one word says a number that an amount can have', () => {
    expect([0n, 6n, 18n, 77n].map((one) => readDecimals(uint(one)))).to.deep.equal([0, 6, 18, 77])
    expect(readWord(uint(2n ** 255n))).to.equal(2n ** 255n)
    for (const answer of [uint(78n), uint(2n ** 255n), '0x', '0x06', `${uint(6n)}00`, null, 6]) {
      expect(readDecimals(answer), String(answer)).to.equal(undefined)
    }
  })

  it('has a symbol as a string, wherever its answer puts it, or in 32 bytes', () => {
    expect(readSymbol(text('USDC'))).to.equal('USDC')
    expect(readSymbol(text('USD₮0'))).to.equal('USD₮0')
    expect(readSymbol(stringToHex('MKR', { size: 32 }))).to.equal('MKR')
    const moved = words(64n, 0n, 4n, padHex(stringToHex('USDC'), { dir: 'right', size: 32 }))
    expect(readSymbol(moved)).to.equal('USDC')
    expect(readSymbol(text('x'.repeat(32)))).to.equal('x'.repeat(32))
  })

  it('has none where nobody could read it', () => {
    const hostile = ['', ' ', 'US\nD', 'USD\u0000', '\u202eCDSU', 'U\u200bSD', 'x'.repeat(33)]
    for (const symbol of hostile) {
      expect(readSymbol(text(symbol)), JSON.stringify(symbol)).to.equal(null)
    }
    expect(readSymbol(uint(0n))).to.equal(null)
    expect(readSymbol(words(32n, 1n, `0x${'ff'.repeat(32)}`))).to.equal('\ufffd')
  })

  it('answers no text where a length or a place is beyond its bytes', () => {
    const huge = 2n ** 256n - 1n
    const short = padHex(stringToHex('USDC'), { dir: 'right', size: 32 })
    const answers = [
      words(32n, 33n, short),
      words(32n, huge, short),
      words(huge, 4n, short),
      words(96n, 4n, short),
      words(32n, 2n ** 32n + 4n, short),
      '0x',
      '0x0',
      'USDC',
      undefined,
      null,
    ]
    for (const answer of answers) expect(readSymbol(answer), String(answer)).to.equal(undefined)
  })
})
