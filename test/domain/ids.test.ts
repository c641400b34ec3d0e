import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createId, type IdPrefix } from '../../src/domain/ids.ts'

describe('createId', () => {
  const prefixes: IdPrefix[] = ['TX', 'TRF', 'REF']
  for (const prefix of prefixes) {
    it(`makes ${prefix} and 20 digits`, () => {
      expect(createId(prefix, randomBytes)).to.match(new RegExp(`^${prefix}[0-9]{20}$`))
    })
  }

  it('takes every digit equally often', () => {
    const counts = Array.from({ length: 10 }, () => 0)
    for (let made = 0; made < 5000; made++) {
      for (const digit of createId('TX', randomBytes).slice(2)) counts[Number(digit)]! += 1
    }
    // 10,000 expected of each, with a standard deviation of 95: six of them happen never.
    for (const count of counts) expect(count).to.be.within(9430, 10_570)
  })

  it('throws the bytes away that would favour some digits', () => {
    const rounds = [new Uint8Array(20).fill(250), new Uint8Array(20).fill(249)]
    expect(createId('TX', () => rounds.shift()!)).to.equal(`TX${'9'.repeat(20)}`)
  })

  it('makes no id without randomness', () => {
    expect(() => createId('TX', (size) => new Uint8Array(size).fill(255)))
      .to.throw()
      .with.property('code', 'impossible')
  })

  it('never makes the same twice', () => {
    const made = Array.from({ length: 10_000 }, () => createId('REF', randomBytes))
    expect(new Set(made).size).to.equal(made.length)
  })
})
