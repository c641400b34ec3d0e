import { expect } from 'chai'

import { createCache, createFreshCache } from '../../src/base/cache.ts'
import { createTestClock } from '../fixtures/clock.ts'

describe('createCache', () => {
  it('drops what was longest not asked for', () => {
    const cache = createCache<number>(2)
    cache.set('a', 1)
    cache.set('b', 2)
    expect(cache.get('a')).to.equal(1)
    cache.set('c', 3)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).to.deep.equal([1, undefined, 3])
    cache.delete('a')
    expect([...cache.entries()]).to.deep.equal([['c', 3]])
  })
})

describe('createFreshCache', () => {
  it('loads once for all who ask at once', async () => {
    const { cache, loads } = makeCache()
    expect(await Promise.all([cache.get('a'), cache.get('a')])).to.deep.equal(['a1', 'a1'])
    expect(await cache.get('a')).to.equal('a1')
    expect(loads.count).to.equal(1)
  })

  it('loads again in the background first, and before it answers once it is too old', async () => {
    const { cache, loads, clock } = makeCache()
    await cache.get('a')
    clock.advance(50)
    expect(await cache.get('a')).to.equal('a1')
    await settle()
    expect(loads.count).to.equal(2)
    expect(await cache.get('a')).to.equal('a2')
    clock.advance(100)
    expect(await cache.get('a')).to.equal('a3')
  })

  it('does not remember a load that was under way when it had to forget', async () => {
    const { cache, loads } = makeCache()
    const early = cache.get('a')
    cache.forget((value) => value === 'a1')
    expect(await early).to.equal('a1')
    expect(await cache.get('a')).to.equal('a2')
    cache.forget((value) => value === 'other')
    expect(await cache.get('a')).to.equal('a2')
    expect(loads.count).to.equal(2)
  })

  it('tells a failure to who waits for it, and tells what it has to who does not', async () => {
    const { cache, loads, clock } = makeCache()
    await cache.get('a')
    loads.fails = true
    clock.advance(50)
    expect(await cache.get('a')).to.equal('a1')
    await settle()
    clock.advance(50)
    const failure = await cache.get('a').catch((error: Error) => error.message)
    expect(failure).to.equal('down')
    loads.fails = false
    expect(await cache.get('a')).to.equal('a4')
  })
})

function makeCache() {
  const clock = createTestClock()
  const loads = { count: 0, fails: false }
  const cache = createFreshCache({
    capacity: 10,
    refreshMs: 50,
    limitMs: 100,
    clock,
    async load(key: string) {
      loads.count += 1
      if (loads.fails) throw new Error('down')
      return `${key}${loads.count}`
    },
  })
  return { cache, loads, clock }
}

function settle(): Promise<void> {
  return new Promise((done) => setImmediate(done))
}
