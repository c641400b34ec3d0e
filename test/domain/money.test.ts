import { expect } from 'chai'
import * as fc from 'fast-check'

import { formatAmount, parseAmount, STABLECOIN_DECIMALS } from '../../src/domain/money.ts'
import { failureOf } from '../fixtures/errors.ts'

describe('parseAmount', () => {
  const good: ReadonlyArray<[string, number, bigint]> = [
    ['1', 2, 100n],
    ['100.5', 2, 10050n],
    ['0.01', 2, 1n],
    ['1.000000000000000001', 18, 1000000000000000001n],
    ['0.000001', STABLECOIN_DECIMALS, 1n],
    ['9999999999999.99', 2, 999999999999999n],
  ]
  for (const [text, decimals, amount] of good) {
    it(`reads ${text} with ${decimals} decimals`, () => {
      expect(parseAmount({ text, decimals })).to.equal(amount)
    })
  }

  const bad: ReadonlyArray<[string, string]> = [
    ['', 'amount_not_decimal'],
    ['1e2', 'amount_not_decimal'],
    ['-0', 'amount_not_decimal'],
    ['-1', 'amount_not_decimal'],
    ['+1', 'amount_not_decimal'],
    ['NaN', 'amount_not_decimal'],
    ['Infinity', 'amount_not_decimal'],
    ['0x10', 'amount_not_decimal'],
    ['01', 'amount_not_decimal'],
    ['.5', 'amount_not_decimal'],
    ['1.', 'amount_not_decimal'],
    ['1,5', 'amount_not_decimal'],
    ['1_000', 'amount_not_decimal'],
    [' 1', 'amount_not_decimal'],
    ['1 ', 'amount_not_decimal'],
    ['1\n', 'amount_not_decimal'],
    ['１', 'amount_not_decimal'],
    ['١', 'amount_not_decimal'],
    ['0', 'amount_not_positive'],
    ['0.00', 'amount_not_positive'],
    ['0.001', 'amount_too_precise'],
    ['1.000', 'amount_too_precise'],
    ['10000000000000', 'amount_too_large'],
    [`1${'0'.repeat(400)}`, 'amount_too_large'],
  ]
  for (const [text, code] of bad) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))} as ${code}`, async () => {
      const failure = await failureOf(() => parseAmount({ text, decimals: 2 }))
      expect(failure.code).to.equal(code)
    })
  }

  it('reads back every amount that formatAmount writes', () => {
    const amounts = fc.bigInt({ min: 1n, max: 10n ** 31n - 1n })
    fc.assert(
      fc.property(amounts, (amount) => {
        const text = formatAmount({ amount, decimals: 18 })
        expect(parseAmount({ text, decimals: 18 })).to.equal(amount)
      }),
    )
  })
})

describe('formatAmount', () => {
  it('writes no digit more than is needed', () => {
    expect(formatAmount({ amount: 10050n, decimals: 2 })).to.equal('100.5')
    expect(formatAmount({ amount: 10000n, decimals: 2 })).to.equal('100')
    expect(formatAmount({ amount: 1n, decimals: 18 })).to.equal('0.000000000000000001')
    expect(formatAmount({ amount: 0n, decimals: 18 })).to.equal('0')
  })

  it('keeps as many decimals as are asked for', () => {
    expect(formatAmount({ amount: 10000n, decimals: 2, minDecimals: 2 })).to.equal('100.00')
    expect(formatAmount({ amount: 1n, decimals: 6, minDecimals: 2 })).to.equal('0.000001')
  })

  it('writes a negative difference with its sign', () => {
    expect(formatAmount({ amount: -5n, decimals: 2 })).to.equal('-0.05')
  })
})
