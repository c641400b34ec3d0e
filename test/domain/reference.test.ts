import { expect } from 'chai'
import * as fc from 'fast-check'

import {
  createReferenceCodec,
  firstNonZeroPrefix,
  MAX_COUNTER,
  MAX_SEARCH_PAGES,
  OrderReferenceError,
  refundReference,
} from '../../src/domain/reference.ts'

const KEY = new Uint8Array(32).fill(7)
const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const OTHER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'

const keys = fc.uint8Array({ minLength: 32, maxLength: 64 })
const payers = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`)
const counters = fc.bigInt({ min: 0n, max: MAX_COUNTER })
const references = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`)

describe('a reference', () => {
  it('is pinned, since orders that were paid are found by it', () => {
    const codec = createReferenceCodec(KEY)
    expect(codec.encode({ payer: PAYER, counter: 0n })).to.equal(PINNED.first)
    expect(codec.encode({ payer: PAYER, counter: 511n })).to.equal(PINNED.second)
    expect(refundReference(PINNED.first)).to.equal(PINNED.refund)
  })

  it('keeps 256 consecutive orders of a payer in one word, one bit each', () => {
    fc.assert(
      fc.property(keys, payers, pages(), (key, payer, page) => {
        const codec = createReferenceCodec(key)
        const encoded = Array.from({ length: 256 }, (_, bit) =>
          codec.encode({ payer, counter: page * 256n + BigInt(bit) }),
        )
        expect(new Set(encoded.map(wordOf)).size).to.equal(1)
        expect(encoded.map(bitOf)).to.deep.equal(Array.from({ length: 256 }, (_, bit) => bit))
      }),
      { numRuns: 20 },
    )
  })

  it('never comes twice, within a payer or between payers', () => {
    const codec = createReferenceCodec(KEY)
    const slots = fc.record({ payer: payers, counter: counters })
    fc.assert(
      fc.property(slots, slots, (one, two) => {
        const same = one.payer === two.payer && one.counter === two.counter
        expect(codec.encode(one) === codec.encode(two)).to.equal(same)
      }),
    )
    const many = Array.from({ length: 20_000 }, (_, counter) =>
      codec.encode({ payer: PAYER, counter: BigInt(counter) }),
    )
    expect(new Set(many).size).to.equal(20_000)
  })

  it('shares no word with another page, payer or key', () => {
    fc.assert(
      fc.property(keys, payers, pages(), (key, payer, page) => {
        const codec = createReferenceCodec(key)
        const counter = page * 256n
        const here = wordOf(codec.encode({ payer, counter }))
        const next = wordOf(codec.encode({ payer, counter: counter + 256n }))
        const theirs = wordOf(codec.encode({ payer: flipped(payer), counter }))
        const otherKey = Uint8Array.from(key, (value, at) => (at === 0 ? value ^ 1 : value))
        const unkeyed = wordOf(createReferenceCodec(otherKey).encode({ payer, counter }))
        expect(new Set([here, next, theirs, unkeyed]).size).to.equal(4)
      }),
    )
  })

  it('does not depend on the case of the address', () => {
    const codec = createReferenceCodec(KEY)
    const lower = `0x${PAYER.slice(2).toLowerCase()}` as const
    expect(codec.encode({ payer: lower, counter: 3n })).to.equal(
      codec.encode({ payer: PAYER, counter: 3n }),
    )
  })

  it('stays what it was when the caller clears the key', () => {
    const key = Uint8Array.from(KEY)
    const codec = createReferenceCodec(key)
    const before = codec.encode({ payer: PAYER, counter: 1n })
    key.fill(0)
    expect(codec.encode({ payer: PAYER, counter: 1n })).to.equal(before)
  })

  it('is never zero, even when a hash is', () => {
    const zeros = new Uint8Array(32)
    // Only the byte beside the prefix is set, which a reference does not use.
    const nearlyZeros = Uint8Array.from(zeros, (_, at) => (at === 31 ? 9 : 0))
    const useful = new Uint8Array(32).fill(5)
    const rounds = [zeros, nearlyZeros, useful]
    expect(firstNonZeroPrefix((round) => rounds[round] ?? zeros)).to.deep.equal(
      useful.subarray(0, 31),
    )
    expectCode(() => firstNonZeroPrefix(() => zeros), 'reference_hash_broken')
  })
})

describe('the owner of references', () => {
  it('finds the counter again within a bound', () => {
    fc.assert(
      fc.property(keys, payers, smallCounters(), (key, payer, counter) => {
        const codec = createReferenceCodec(key)
        const reference = codec.encode({ payer, counter })
        expect(codec.decode({ reference, payer, below: 10_000n })).to.equal(counter)
        expect(codec.decode({ reference, payer, below: counter + 1n })).to.equal(counter)
        expect(codec.decode({ reference, payer, below: counter })).to.equal(undefined)
        expect(codec.decode({ reference, payer, from: counter, below: 10_000n })).to.equal(counter)
        expect(codec.decode({ reference, payer, from: counter + 1n, below: 10_000n })).to.equal(
          undefined,
        )
      }),
    )
  })

  it('recognises exactly the payer and counter that made it', () => {
    const codec = createReferenceCodec(KEY)
    fc.assert(
      fc.property(payers, counters, counters, (payer, counter, another) => {
        const reference = codec.encode({ payer, counter })
        expect(codec.owns({ reference, payer, counter })).to.equal(true)
        expect(codec.owns({ reference, payer, counter: another })).to.equal(another === counter)
        expect(codec.owns({ reference, payer: flipped(payer), counter })).to.equal(false)
      }),
    )
  })

  it('reads a reference in either case', () => {
    const codec = createReferenceCodec(KEY)
    const reference = codec.encode({ payer: PAYER, counter: 77n })
    const upper = `0x${reference.slice(2).toUpperCase()}` as const
    expect(codec.decode({ reference: upper, payer: PAYER, below: 256n })).to.equal(77n)
    expect(codec.owns({ reference: upper, payer: PAYER, counter: 77n })).to.equal(true)
  })

  it('is nobody else: another key or payer finds nothing', () => {
    fc.assert(
      fc.property(keys, keys, smallCounters(), (key, thief, counter) => {
        fc.pre(!Buffer.from(key).equals(Buffer.from(thief)))
        const reference = createReferenceCodec(key).encode({ payer: PAYER, counter })
        const search = { reference, payer: PAYER, below: 10_000n } as const
        expect(createReferenceCodec(thief).decode(search)).to.equal(undefined)
        expect(createReferenceCodec(key).decode({ ...search, payer: OTHER })).to.equal(undefined)
      }),
    )
  })

  it('finds nothing in a reference that no key made', () => {
    const codec = createReferenceCodec(KEY)
    fc.assert(
      fc.property(references, (reference) => {
        expect(codec.decode({ reference, payer: PAYER, below: 10_000n })).to.equal(undefined)
      }),
    )
  })
})

describe('the reference of a refund', () => {
  it('is deterministic and differs from every order', () => {
    const codec = createReferenceCodec(KEY)
    fc.assert(
      fc.property(payers, smallCounters(), (payer, counter) => {
        const reference = codec.encode({ payer, counter })
        const refund = refundReference(reference)
        expect(refundReference(reference)).to.equal(refund)
        expect(codec.decode({ reference: refund, payer, below: 10_000n })).to.equal(undefined)
      }),
    )
  })

  it('keeps the refunds of a page in one word of their own', () => {
    const codec = createReferenceCodec(KEY)
    const orders = Array.from({ length: 256 }, (_, counter) =>
      codec.encode({ payer: PAYER, counter: BigInt(counter) }),
    )
    const refunds = orders.map(refundReference)
    expect(new Set(refunds).size).to.equal(256)
    expect(new Set(refunds.map(wordOf)).size).to.equal(1)
    expect(wordOf(refunds[0] ?? '0x')).to.not.equal(wordOf(orders[0] ?? '0x'))
  })

  it('differs between any two references', () => {
    fc.assert(
      fc.property(references, references, (one, two) => {
        expect(refundReference(one) === refundReference(two)).to.equal(one === two)
      }),
    )
  })
})

describe('a reference codec refuses', () => {
  const codec = createReferenceCodec(KEY)

  it('a key that can be guessed', () => {
    expectCode(() => createReferenceCodec(new Uint8Array(31)), 'reference_key_too_short')
  })

  it('a counter below zero or beyond what SQL can count', () => {
    for (const counter of [-1n, MAX_COUNTER + 1n]) {
      expectCode(() => codec.encode({ payer: PAYER, counter }), 'reference_counter_out_of_range')
    }
    expect(codec.encode({ payer: PAYER, counter: MAX_COUNTER })).to.match(/^0x[0-9a-f]{62}ff$/)
  })

  it('an address or a reference of the wrong size', () => {
    const wrong = ['0x', '0x1234', `${PAYER}00`, `0x${'g'.repeat(40)}`, ` ${PAYER}`] as const
    for (const payer of wrong) {
      // @ts-expect-error: the last one does not even look like hexadecimal text to the compiler.
      expectCode(() => codec.encode({ payer, counter: 0n }), 'reference_payer_invalid')
    }
    expectCode(() => refundReference('0x1234'), 'reference_invalid')
    const search = { reference: '0x1234', payer: PAYER, below: 1n } as const
    expectCode(() => codec.decode(search), 'reference_invalid')
  })

  it('a search without a sensible bound', () => {
    const reference = codec.encode({ payer: PAYER, counter: 0n })
    const widest = MAX_SEARCH_PAGES * 256n
    expectCode(
      () => codec.decode({ reference, payer: PAYER, below: widest + 1n }),
      'reference_search_too_wide',
    )
    expectCode(
      () => codec.decode({ reference, payer: PAYER, from: -1n, below: 1n }),
      'reference_counter_out_of_range',
    )
    expect(codec.decode({ reference, payer: PAYER, from: 5n, below: 5n })).to.equal(undefined)
  })
})

const PINNED = {
  first: '0x6c08650b70e1db4afdf2cdab47eac0a911b0caf763a48324b365baa900649500',
  second: '0xd162ff708126b68a7fb3a2d629bcad85b3b61c552ff68937122cede2b4fbcdff',
  refund: '0x6e88756b25b151bbbe290ae5c0bdde6f7b09f0503c10cb14f3cbca40d27c8c00',
} as const

function pages() {
  return fc.bigInt({ min: 0n, max: MAX_COUNTER / 256n - 1n })
}

function smallCounters() {
  return fc.bigInt({ min: 0n, max: 9_998n })
}

function wordOf(reference: string): string {
  return reference.slice(0, -2)
}

function bitOf(reference: string): number {
  return Number.parseInt(reference.slice(-2), 16)
}

function flipped(address: `0x${string}`): `0x${string}` {
  const last = Number.parseInt(address.slice(-1), 16) ^ 1
  return `0x${address.slice(2, -1)}${last.toString(16)}`
}

function expectCode(action: () => unknown, code: string): void {
  expect(action).to.throw(OrderReferenceError).with.property('code', code)
}
