import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createApiKey, hashOfKey, readApiKey, type NewApiKey } from '../../src/domain/api-keys.ts'

describe('API key texts', () => {
  it('show their environment and carry 256 random bits', () => {
    const key = createApiKey({ environment: 'sandbox', randomBytes })
    expect(key.text).to.match(/^sk_sandbox_[0-9A-Za-z]{49}$/)
    expect(key.sha256).to.equal(hashOfKey(key.text))
    expect(key.shown).to.match(/^sk_sandbox_\w{4}…\w{4}$/)
    const live = createApiKey({ environment: 'production', randomBytes })
    expect(live.text).to.match(/^sk_live_[0-9A-Za-z]{49}$/)
    expect(readApiKey(live.text)).to.deep.equal({ kind: 'key', environment: 'production' })
  })

  it('use every bit of the randomness', () => {
    expect(liveKeyOf(0).text).to.match(/^sk_live_0{43}/)
    expect(liveKeyOf(255).text).to.match(/^sk_live_[^0]/)
    const texts = new Set(
      Array.from(
        { length: 1000 },
        () => createApiKey({ environment: 'sandbox', randomBytes }).text,
      ),
    )
    expect(texts.size).to.equal(1000)
  })

  it('tell a mistyped key from one that is none', () => {
    const { text } = createApiKey({ environment: 'sandbox', randomBytes })
    for (let place = 11; place < text.length; place++) {
      const other = text[place] === 'A' ? 'B' : 'A'
      const typo = text.slice(0, place) + other + text.slice(place + 1)
      expect(readApiKey(typo).kind, typo).to.equal('mistyped')
    }
    for (const bad of [text.slice(1), '', 'eyJhbGciOiJub25lIn0.e30.', 'x'.repeat(100_000)]) {
      expect(readApiKey(bad).kind).to.equal('other')
    }
    for (const bad of [
      `${text}0`,
      text.slice(0, -1),
      `${text}\n`,
      'sk_',
      text.replace('sandbox', 'live'),
    ]) {
      expect(readApiKey(bad).kind).to.equal('mistyped')
    }
  })
})

function liveKeyOf(fill: number): NewApiKey {
  return createApiKey({
    environment: 'production',
    randomBytes: (size) => new Uint8Array(size).fill(fill),
  })
}
