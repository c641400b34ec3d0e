import { expect } from 'chai'
import { array, assert, constantFrom, json, property } from 'fast-check'

import { decimal, readJson, writeJson } from '../../src/client/json.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe("the client's JSON", () => {
  const amounts: ReadonlyArray<[string, string]> = [
    ['100', '100'],
    ['100.50', '100.50'],
    ['1.000000000000000001', '1.000000000000000001'],
    ['9007199254740993', '9007199254740993'],
    ['"1.10"', '1.10'],
    ['1e-7', '0.0000001'],
    ['1.25E+3', '1250'],
    ['1.000000000000000001e18', '1000000000000000001'],
    ['123.456e-2', '1.23456'],
    ['-2.5e-1', '-0.25'],
    ['0e5', '0'],
    ['1e999999999', '1e999999999'],
  ]
  for (const [text, amount] of amounts) {
    it(`reads the amount ${text} in its exact digits`, () => {
      expect(readJson(`{"amount": ${text} , "next": 1}`)).to.deep.equal({ amount, next: 1 })
    })
  }

  it('keeps safe whole numbers, and gives the text of all others', () => {
    const text = '{"id":7,"gas":9007199254740993,"rate":0.1,"list":[1,-2,3.5]}'
    const read = { id: 7, gas: '9007199254740993', rate: '0.1', list: [1, -2, '3.5'] }
    expect(readJson(text)).to.deep.equal(read)
  })

  it('leaves text alone, whatever looks like a number in it', () => {
    const value = { 'a "1.5" b\\': 'x: 1.5, "2.5"\n\\', b: ['1.5', '\\"9.9'] }
    expect(readJson(JSON.stringify(value))).to.deep.equal(value)
  })

  it('reads what JSON.parse reads, and refuses what it refuses', () => {
    const part = constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '1.5', '-', '0', 'e', ' ')
    assert(
      property(array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        expect(
          isRead(() => readJson(text)),
          text,
        ).to.equal(isRead(() => JSON.parse(text)))
      }),
      { numRuns: 5000 },
    )
    assert(
      property(json(), (text) => {
        expect(isRead(() => readJson(text))).to.equal(true)
      }),
    )
  })

  it('takes no longer for hostile text than for any other of its length', () => {
    for (const text of ['"\\'.repeat(500_000), '\\"'.repeat(500_000), '1'.repeat(1_000_000)]) {
      expect(() => readJson(`[${text}x`)).to.throw(SyntaxError)
    }
  })

  it('writes an amount as a number with all its digits', () => {
    const body = {
      amount: decimal('1.000000000000000001'),
      to: undefined,
      list: [true, null, 'é"'],
    }
    const text = '{"amount":1.000000000000000001,"list":[true,null,"é\\""]}'
    expect(writeJson(body)).to.equal(text)
  })

  for (const amount of ['1e3', '-1', '01', '.5', '1.', ' 1', '', '0x10', 1.5, 10n]) {
    it(`refuses to send ${typeof amount} ${JSON.stringify(String(amount))} as an amount`, () =>
      expectFailure(() => decimal(amount as string), 'invalid_call'))
  }
})

function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
