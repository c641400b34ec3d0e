import { expect } from 'chai'

import { createRateLimits, networkOf, type RateLimits } from '../../../src/api/access/limit-rate.ts'
import { createRateLimiter } from '../../../src/api/access/rate-limiter.ts'
import type { RequestError } from '../../../src/wire/errors.ts'
import { anEndpoint } from '../../fixtures/api/access.ts'
import { createTestClock, type TestClock } from '../../fixtures/clock.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const caller = {
  userId: 3,
  username: 'alice',
  scopes: [],
  dialect: 'flat' as const,
  credential: 'key:17',
}
const remoteAddress = '203.0.113.9'

describe('rate limits', () => {
  let clock: TestClock
  let rates: RateLimits

  beforeEach(async () => {
    const { db } = await freshDatabase()
    clock = createTestClock(new Date('2026-01-01T00:00:00.500Z'))
    rates = createRateLimits({
      limiter: createRateLimiter({ db, clock }),
      rates: { groupA: 3, groupB: 2, failures: 20 },
    })
  })

  const limitOf = (group: 'a' | 'b', credential = 'key:17') =>
    rates.limitRate({
      caller: { ...caller, credential },
      endpoint: anEndpoint(group),
      remoteAddress,
    })
  const login = (username: string, address = remoteAddress) =>
    rates.limitLogin({ remoteAddress: address, username })

  it('tell what is left, in each group and for each credential by itself', async () => {
    expect(await limitOf('a')).to.deep.equal({
      'ratelimit-policy': '"key";q=3;w=60',
      ratelimit: '"key";r=2;t=61',
    })
    await limitOf('a')
    expect((await limitOf('a'))['ratelimit']).to.equal('"key";r=0;t=61')
    expect((await limitOf('b'))['ratelimit']).to.equal('"credential";r=1;t=61')
    expect((await limitOf('a', 'user:17'))['ratelimit']).to.equal('"key";r=2;t=61')
  })

  it('refuse with the time to wait', async () => {
    for (let count = 0; count < 2; count++) await limitOf('b')
    clock.advance(20_000)
    const failure = (await failureOf(() => limitOf('b'))) as RequestError
    expect(failure).to.include({ failure: 'rate_limited', retryable: true })
    expect(failure.headers).to.deep.equal({
      'ratelimit-policy': '"credential";q=2;w=60',
      ratelimit: '"credential";r=0;t=41',
      'retry-after': '41',
    })
    clock.advance(41_000)
    expect((await limitOf('b'))['ratelimit']).to.equal('"credential";r=1;t=61')
  })

  it('leave public operations to their own limits', async () => {
    expect(await rates.limitRate({ endpoint: anEndpoint('b'), remoteAddress })).to.deep.equal({})
  })

  it('allow ten tries a minute for one user from one address', async () => {
    for (let count = 0; count < 10; count++) await login(count % 2 === 0 ? 'alice' : 'ALICE')
    expect((await failureOf(() => login('Alice'))).code).to.equal('rate_limited')
    await login('bob')
    await login('alice', '203.0.113.10')
  })

  it('keep off an address that tries many names, but not who logs in from there', async () => {
    ;(await login('honest')).succeeded()
    for (let count = 0; count < 20; count++) await login(`victim-${count}`)
    expect((await failureOf(() => login('victim-20'))).code).to.equal('rate_limited')
    ;(await login('honest')).succeeded()
    await login('victim-21', '203.0.113.10')
  })

  it('do not count logins that were right as failures', async () => {
    for (let count = 0; count < 40; count++) (await login(`user-${count}`)).succeeded()
    await login('another')
  })

  it('count bad credentials by address', async () => {
    for (let count = 0; count < 20; count++) await rates.limitFailures(remoteAddress)
    const failure = await failureOf(() => rates.limitFailures(remoteAddress))
    expect(failure.code).to.equal('rate_limited')
    await rates.limitFailures('2001:db8:1:2::1')
  })
})

describe('networkOf', () => {
  it('takes an IPv6 network as one and an IPv4 address as itself', () => {
    const networks: Record<string, string> = {
      '203.0.113.9': '203.0.113.9',
      '::ffff:203.0.113.9': '203.0.113.9',
      '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
      '2001:0DB8:0001:0002::9': '2001:db8:1:2::/64',
      '2001:db8::9': '2001:db8:0:0::/64',
      'fe80::1%eth0': 'fe80:0:0:0::/64',
      '::1': '0:0:0:0::/64',
      '::': '0:0:0:0::/64',
      'not an address': 'not an address',
      '': '',
    }
    for (const [address, network] of Object.entries(networks)) {
      expect(networkOf(address), address).to.equal(network)
    }
  })
})
