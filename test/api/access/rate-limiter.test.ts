import { expect } from 'chai'
import type { KyselyPlugin } from 'kysely'

import {
  createRateLimiter,
  type RateLimiter,
  type RatePolicy,
} from '../../../src/api/access/rate-limiter.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { prune } from '../../../src/store/database/upkeep.ts'
import { createTestClock, type TestClock } from '../../fixtures/clock.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('the rate limiter', () => {
  let db: Db
  let clock: TestClock

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    clock = createTestClock(new Date('2026-01-01T00:00:00.000Z'))
  })

  const makeLimiter = () => createRateLimiter({ db, clock })

  it('allows exactly the limit, and says when the next one may come', async () => {
    const limiter = makeLimiter()
    const policy = policyOf(100)
    const remaining = []
    for (let count = 0; count < 100; count++) {
      const verdict = await limiter.take('a', policy)
      expect(verdict.isAllowed).to.equal(true)
      remaining.push(verdict.remaining)
    }
    expect(remaining).to.deep.equal(Array.from({ length: 100 }, (_, index) => 99 - index))
    const refused = { isAllowed: false, remaining: 0, waitMs: 61_000 }
    expect(await limiter.take('a', policy)).to.deep.equal(refused)
    expect((await limiter.take('b', policy)).isAllowed).to.equal(true)
    clock.advance(60_999)
    expect((await limiter.take('a', policy)).isAllowed).to.equal(false)
    clock.advance(1)
    expect((await limiter.take('a', policy)).isAllowed).to.equal(true)
  })

  it('slides: what was taken early becomes free before what was taken late', async () => {
    const limiter = makeLimiter()
    const policy = policyOf(10)
    expect(await takeMany(limiter, 4, policy)).to.equal(4)
    clock.advance(30_000)
    expect(await takeMany(limiter, 9, policy)).to.equal(6)
    clock.advance(31_000)
    expect(await takeMany(limiter, 9, policy)).to.equal(4)
    clock.advance(30_000)
    expect(await takeMany(limiter, 9, policy)).to.equal(6)
  })

  it('asks the database once for many requests', async () => {
    const counted = countQueries(db)
    const limiter = createRateLimiter({ db: counted.db, clock })
    expect(await takeMany(limiter, 1000, policyOf(1000))).to.equal(1000)
    expect(counted.queries).to.equal(50)
    expect(await takeMany(limiter, 500, policyOf(1000))).to.equal(0)
    expect(counted.queries).to.equal(51)
  })

  it('serves a thousand at once', async () => {
    const limiter = makeLimiter()
    const takes = Array.from({ length: 1200 }, () => limiter.take('a', policyOf(1000)))
    const allowed = (await Promise.all(takes)).filter((verdict) => verdict.isAllowed)
    expect(allowed).to.have.length(1000)
  })

  it('gives back what a slow client did not use', async () => {
    const limiter = makeLimiter()
    for (let second = 0; second < 600; second++) {
      expect((await limiter.take('a', policyOf(1000))).isAllowed).to.equal(true)
      clock.advance(1000)
    }
    const { remaining } = await limiter.take('a', policyOf(1000))
    expect(remaining).to.be.within(900, 945)
  })

  it('is one for all processes: never above the limit when they come at once', async () => {
    const limiters = Array.from({ length: 5 }, makeLimiter)
    const takes = limiters.flatMap((limiter) =>
      Array.from({ length: 300 }, () => limiter.take('a', policyOf(1000))),
    )
    const allowed = (await Promise.all(takes)).filter((verdict) => verdict.isAllowed)
    expect(allowed).to.have.length(1000)
  })

  it('refuses early by no more than what the others hold', async () => {
    const limiters = Array.from({ length: 4 }, makeLimiter)
    for (const limiter of limiters) await limiter.take('a', policyOf(1000))
    const [busy = makeLimiter()] = limiters
    const allowed = 4 + (await takeMany(busy, 1100, policyOf(1000)))
    expect(allowed).to.be.within(1000 - 3 * 19, 1000)
  })

  it('neither spends nor gives back what it reserved in a window that is over', async () => {
    const [slow, busy] = [makeLimiter(), makeLimiter()]
    expect(await takeMany(slow, 1, policyOf(200))).to.equal(1)
    clock.advance(61_000)
    expect(await takeMany(busy, 300, policyOf(200))).to.equal(200)
    expect(await takeMany(slow, 1, policyOf(200))).to.equal(0)
  })

  it('never allows more in any window than the limit and a fiftieth for each process', async () => {
    const limit = 200
    const limiters = Array.from({ length: 3 }, makeLimiter)
    const allowedAt: number[] = []
    const random = randomFrom(42)
    for (let step = 0; step < 1500; step++) {
      const burst = random() < 0.05 ? 60 : 1
      for (let count = 0; count < burst; count++) {
        const limiter = limiters[Math.floor(random() * 3)] ?? makeLimiter()
        const verdict = await limiter.take('a', policyOf(limit))
        if (verdict.isAllowed) allowedAt.push(clock.now().getTime())
      }
      clock.advance(Math.floor(random() * 500))
    }
    expect(allowedAt.length).to.be.above(limit * 3)
    expect(mostInWindow(allowedAt, 60_000)).to.be.within(limit * 0.9, limit + 3 * (limit / 50))
  })

  it('counts in the slot of the fastest clock', async () => {
    const behind = createRateLimiter({ db, clock: createTestClock(new Date(0)) })
    expect(await takeMany(makeLimiter(), 6, policyOf(10))).to.equal(6)
    expect(await takeMany(behind, 9, policyOf(10))).to.equal(4)
  })

  it('undoes a take', async () => {
    const limiter = makeLimiter()
    for (let round = 0; round < 50; round++) {
      expect((await limiter.take('a', policyOf(10))).isAllowed).to.equal(true)
      limiter.giveBack('a')
      clock.advance(900)
    }
    limiter.giveBack('unknown')
    expect(await takeMany(limiter, 20, policyOf(10))).to.equal(10)
  })

  it('forgets who has not come for a while', async () => {
    const limiter = makeLimiter()
    for (const bucket of ['a', 'b', 'c']) await limiter.take(bucket, policyOf(10))
    clock.advance(120_000)
    await limiter.take('c', policyOf(10))
    const olderThan = new Date(clock.now().getTime() - 61_000)
    expect(await prune(db, { what: 'rateLimits', olderThan, limit: 1 })).to.equal(1)
    expect(await prune(db, { what: 'rateLimits', olderThan, limit: 9 })).to.equal(1)
    expect(await prune(db, { what: 'rateLimits', olderThan, limit: 9 })).to.equal(0)
  })
})

function policyOf(limit: number): RatePolicy {
  return { name: 'test', limit, windowMs: 60_000 }
}

async function takeMany(limiter: RateLimiter, count: number, policy: RatePolicy): Promise<number> {
  let allowed = 0
  for (let index = 0; index < count; index++) {
    if ((await limiter.take('a', policy)).isAllowed) allowed += 1
  }
  return allowed
}

function countQueries(db: Db): { db: Db; readonly queries: number } {
  let queries = 0
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      queries += 1
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    db: db.withPlugin(plugin),
    get queries() {
      return queries
    },
  }
}

function mostInWindow(times: readonly number[], windowMs: number): number {
  let most = 0
  let first = 0
  for (const [last, time] of times.entries()) {
    while (time - (times[first] ?? 0) >= windowMs) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** Numerical Recipes' generator: the same numbers in each run. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
