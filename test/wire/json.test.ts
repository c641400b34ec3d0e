import { expect } from 'chai'
import * as fc from 'fast-check'

import { RequestError } from '../../src/wire/errors.ts'
import {
  canonicalJson,
  exactNumber,
  isExactNumber,
  parseJson,
  stringifyJson,
} from '../../src/wire/json.ts'
import { failureOf } from '../fixtures/errors.ts'

describe('parseJson', () => {
  it('reads what JSON.parse reads', () => {
    const text = '{"a":[1,-2,true,false,null,"x"],"b":{"c":"\\u00e9\\n"}}'
    expect(parseJson(text)).to.deep.equal(JSON.parse(text))
  })

  it('keeps the text of every number that is not a plain safe integer', () => {
    for (const text of ['1.000000000000000001', '0.10', '-0', '1e2', '1E400', '9007199254740993']) {
      const value = parseJson(text)
      expect(isExactNumber(value), text).to.equal(true)
      expect(stringifyJson(value)).to.equal(text)
    }
  })

  it('gives plain safe integers as numbers', () => {
    for (const number of [0, -1, 42, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      expect(parseJson(String(number))).to.equal(number)
    }
  })

  it('writes back any JSON as it came, and means by it what JSON.parse means', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5, depthSize: 'small' }), (text) => {
        fc.pre(!/__proto__|constructor|prototype|\\u0000/.test(text))
        const compact = stringifyJson(parseJson(text))
        expect(JSON.parse(compact)).to.deep.equal(JSON.parse(text))
        expect(stringifyJson(parseJson(compact))).to.equal(compact)
      }),
    )
  })

  it('keeps any decimal digit for digit', () => {
    const digits = fc.stringMatching(
      /^-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?$/,
    )
    fc.assert(
      fc.property(digits, (text) => {
        expect(stringifyJson(parseJson(`{"a":[${text}]}`))).to.equal(`{"a":[${text}]}`)
      }),
    )
  })

  it('takes and refuses the texts that JSON.parse does', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '"a"',
      '1',
      '-',
      '.',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        if (isJson(text)) parseJson(text)
        else expect(() => parseJson(text)).to.throw(RequestError)
      }),
      { numRuns: 2000 },
    )
  })

  const refusals: ReadonlyArray<[string, string, { field: string; code: string }]> = [
    ['a key twice', '{"a":1,"a":1}', { field: 'a', code: 'duplicate_key' }],
    [
      'a key twice, deep',
      '{"a":[{},{"b":{"c":1,"d":2,"c":3}}]}',
      { field: 'a.1.b.c', code: 'duplicate_key' },
    ],
    ['a key twice, once escaped', '{"a":1,"\\u0061":2}', { field: 'a', code: 'duplicate_key' }],
    [
      '__proto__',
      '{"m":{"__proto__":{"admin":true}}}',
      { field: 'm.__proto__', code: 'forbidden_key' },
    ],
    ['__proto__ escaped', '{"\\u005f_proto__":1}', { field: '__proto__', code: 'forbidden_key' }],
    [
      'constructor',
      '{"constructor":{"prototype":{}}}',
      { field: 'constructor', code: 'forbidden_key' },
    ],
    [
      'nesting without end',
      `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
      { field: '0.0.0', code: 'too_deep' },
    ],
    ['U+0000', '{"a":"x\\u0000"}', { field: 'a', code: 'bad_character' }],
    ['half a surrogate pair', '{"a":"\\ud83d"}', { field: 'a', code: 'bad_character' }],
    ['half a surrogate pair in a key', '{"\\udc00":1}', { field: '?', code: 'bad_character' }],
    ['NaN', '{"a":NaN}', { field: 'body', code: 'malformed_json' }],
    ['a leading zero', '{"a":01}', { field: 'body', code: 'malformed_json' }],
    ['full-width digits', '{"a":１}', { field: 'body', code: 'malformed_json' }],
    ['a comma too many', '{"a":1,}', { field: 'body', code: 'malformed_json' }],
    ['a comment', '{"a":1}//', { field: 'body', code: 'malformed_json' }],
    ['a byte order mark', '\ufeff{}', { field: 'body', code: 'malformed_json' }],
    ['nothing', '', { field: 'body', code: 'malformed_json' }],
  ]
  for (const [name, text, problem] of refusals) {
    it(`refuses ${name}`, async () => {
      const failure = await failureOf(() => parseJson(text))
      expect(failure).to.be.instanceOf(RequestError)
      expect(failure.code).to.equal('invalid_request')
      expect((failure as RequestError).problems).to.have.length(1)
      expect((failure as RequestError).problems[0]).to.include(problem)
    })
  }

  it('never repeats the text that it refuses', async () => {
    const failure = await failureOf(() => parseJson('{"password":"hunter2" oops}'))
    expect(JSON.stringify([failure.message, failure])).not.to.include('hunter2')
  })

  it('takes sixteen levels and refuses the seventeenth', async () => {
    parseJson(nested(16))
    const failure = await failureOf(() => parseJson(nested(17)))
    expect((failure as RequestError).problems[0]?.code).to.equal('too_deep')
  })
})

describe('stringifyJson', () => {
  it('writes bigints and exact numbers with all their digits', () => {
    const value = { wei: 12345678901234567890123n, amount: exactNumber('0.000000000000000001') }
    expect(stringifyJson(value)).to.equal(
      '{"wei":12345678901234567890123,"amount":0.000000000000000001}',
    )
  })

  for (const number of [0.1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`refuses the double ${number}, which may have lost digits`, async () => {
      const failure = await failureOf(() => stringifyJson({ amount: number }))
      expect(failure.code).to.equal('not_an_exact_number')
    })
  }

  it('refuses an exact number that is no number', async () => {
    const failure = await failureOf(() => exactNumber('1,"admin":true'))
    expect(failure.code).to.equal('not_an_exact_number')
  })
})

describe('canonicalJson', () => {
  it('is the same for the same fields in another order', () => {
    const text = '{"b":[{"y":1,"x":0.10}],"a":null}'
    const other = ' {"a" : null, "b":[{"x":0.10,"y":1}]}'
    expect(canonicalJson(parseJson(text))).to.equal(canonicalJson(parseJson(other)))
  })

  it('differs where a list is in another order or a value is another one', () => {
    expect(canonical('[1,2]')).not.to.equal(canonical('[2,1]'))
    expect(canonical('{"a":1}')).not.to.equal(canonical('{"a":"1"}'))
  })
})

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}

function canonical(text: string): string {
  return canonicalJson(parseJson(text))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
