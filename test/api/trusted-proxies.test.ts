import { expect } from 'chai'

import { createAccess } from '../../src/api/access/access.ts'
import { startApi, testCaller, type Api } from '../fixtures/api/api.ts'
import { echoEndpoints } from '../fixtures/api/endpoints.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const PROXY = '10.1.2.3'
const TRUSTED = ['10.0.0.0/8', '2001:db8::1']

describe('trusted proxies', () => {
  /** The addresses that the limits of an operation would count. */
  const addressSeen = async (options: {
    trustedProxies?: string[]
    remoteAddress: string
    forwardedFor?: string
  }): Promise<string> => {
    let seen = ''
    const api = await startApi({
      endpoints: echoEndpoints(),
      hooks: {
        async authenticate(_headers, remoteAddress) {
          seen = remoteAddress
          return testCaller
        },
      },
      server: { trustedProxies: options.trustedProxies ?? [] },
    })
    const { remoteAddress, forwardedFor } = options
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    const answer = await api.server.inject({ url: '/api/echo', remoteAddress, headers })
    expect(answer.statusCode).to.equal(200)
    await api.close()
    return seen
  }

  const cases: ReadonlyArray<[string, Parameters<typeof addressSeen>[0], string]> = [
    ['believe nobody by default', { remoteAddress: PROXY, forwardedFor: '203.0.113.9' }, PROXY],
    [
      'tell whom they ask for',
      { trustedProxies: TRUSTED, remoteAddress: PROXY, forwardedFor: '203.0.113.9' },
      '203.0.113.9',
    ],
    [
      'may stand in a row',
      {
        trustedProxies: TRUSTED,
        remoteAddress: '2001:db8::1',
        forwardedFor: '2001:db8:7::9, 10.9.9.9',
      },
      '2001:db8:7::9',
    ],
    [
      'do not vouch for what the caller wrote before them',
      { trustedProxies: TRUSTED, remoteAddress: PROXY, forwardedFor: '198.51.100.1, 203.0.113.9' },
      '203.0.113.9',
    ],
    [
      'do not vouch for a caller who names a trusted one',
      { trustedProxies: TRUSTED, remoteAddress: PROXY, forwardedFor: '10.0.0.1, 203.0.113.9' },
      '203.0.113.9',
    ],
    [
      'are not whoever comes directly and says so',
      { trustedProxies: TRUSTED, remoteAddress: '198.51.100.1', forwardedFor: '203.0.113.9' },
      '198.51.100.1',
    ],
    ['may say nothing', { trustedProxies: TRUSTED, remoteAddress: PROXY }, PROXY],
  ]
  for (const [title, options, expected] of cases) {
    it(title, async () => {
      expect(await addressSeen(options)).to.equal(expected)
    })
  }

  describe('with the limits by address', () => {
    let api: Api

    const startLimited = async (trustedProxies: string[]): Promise<Api> => {
      const { db } = await freshDatabase()
      const clock = createTestClock(new Date('2026-01-01T00:00:00Z'))
      const access = createAccess({ db, clock, environment: 'sandbox', rates: { failures: 2 } })
      const { authenticate, limitRate } = access
      const hooks = { db, authenticate, limitRate }
      return startApi({ endpoints: echoEndpoints(), hooks, server: { trustedProxies } })
    }
    afterEach(() => api.close())

    const tryBadKey = async (forwardedFor: string): Promise<number> => {
      const { statusCode } = await api.server.inject({
        url: '/api/echo',
        remoteAddress: PROXY,
        headers: { 'x-api-key': 'sk_sandbox_no', 'x-forwarded-for': forwardedFor },
      })
      return statusCode
    }

    it('keep one caller behind a proxy off, and let the next one try', async () => {
      api = await startLimited(TRUSTED)
      const tried = []
      for (let count = 0; count < 3; count++) tried.push(await tryBadKey('203.0.113.9'))
      expect(tried).to.deep.equal([401, 401, 429])
      expect(await tryBadKey('203.0.113.10')).to.equal(401)
    })

    it('are not evaded by a header that nobody vouches for', async () => {
      api = await startLimited([])
      const tried = []
      for (let count = 0; count < 3; count++) tried.push(await tryBadKey(`203.0.113.${count}`))
      expect(tried).to.deep.equal([401, 401, 429])
    })
  })
})
