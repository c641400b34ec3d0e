import { isIPv4, isIPv6 } from 'node:net'

import { createCache } from '../../base/cache.ts'
import { limits } from '../../base/limits.ts'
import { RequestError } from '../../wire/errors.ts'
import type { LimitRate } from '../admission/endpoint.ts'
import type { RateLimiter, RatePolicy, RateVerdict } from './rate-limiter.ts'

export type RateLimits = {
  /** For each request with a credential; a public operation sees to its own limit. */
  limitRate: LimitRate
  /** For a credential that was not valid. */
  limitFailures: (remoteAddress: string) => Promise<void>
  /** For one try of one user's password; tell afterwards whether it was right. */
  limitLogin: (attempt: LoginAttempt) => Promise<{ succeeded: () => void }>
}

export type LoginAttempt = { remoteAddress: string; username: string }

export type RateSettings = Record<'groupA' | 'groupB' | 'login' | 'failures', number>

/** Requests a minute: per credential in each group, per address and user, per address. */
export const RATES: RateSettings = { groupA: 1000, groupB: 1000, login: 10, failures: 100 }

export function createRateLimits(deps: {
  limiter: RateLimiter
  rates?: Partial<RateSettings>
}): RateLimits {
  const { limiter } = deps
  const trusted = createCache<true>(limits.cachedLogins)
  const rates = { ...RATES, ...deps.rates }
  const policies = {
    a: policyOf('key', rates.groupA),
    b: policyOf('credential', rates.groupB),
    login: policyOf('login', rates.login),
    failures: policyOf('failures', rates.failures),
  }
  return {
    async limitRate({ caller, endpoint }) {
      if (!caller) return {}
      const policy = policies[endpoint.group]
      const verdict = await limiter.take(`${endpoint.group}/${caller.credential}`, policy)
      if (!verdict.isAllowed) throw new RateLimitedError(policy, verdict)
      return headersOf(policy, verdict)
    },
    async limitFailures(remoteAddress) {
      await takeOrThrow(limiter, `failures/${networkOf(remoteAddress)}`, policies.failures)
    },
    async limitLogin({ remoteAddress, username }) {
      const network = networkOf(remoteAddress)
      const login = `${network}/${username.toLowerCase()}`
      await takeOrThrow(limiter, `login/${login}`, policies.login)
      // A network that tries many names is kept off before it costs a hash, but not those who have
      // proved themselves from there: they may share the network with the attacker.
      const failures = trusted.get(login) ? undefined : `failures/${network}`
      if (failures !== undefined) await takeOrThrow(limiter, failures, policies.failures)
      return {
        succeeded() {
          if (failures !== undefined) limiter.giveBack(failures)
          trusted.set(login, true)
        },
      }
    },
  }
}

function policyOf(name: string, limit: number): RatePolicy {
  return { name, limit, windowMs: 60_000 }
}

async function takeOrThrow(
  limiter: RateLimiter,
  bucket: string,
  policy: RatePolicy,
): Promise<void> {
  const verdict = await limiter.take(bucket, policy)
  if (!verdict.isAllowed) throw new RateLimitedError(policy, verdict)
}

/** In the form of the IETF's draft: what the limit is, and what is left of it until when. */
function headersOf(policy: RatePolicy, verdict: RateVerdict): Record<string, string> {
  const { name, limit, windowMs } = policy
  return {
    'ratelimit-policy': `"${name}";q=${limit};w=${windowMs / 1000}`,
    ratelimit: `"${name}";r=${verdict.remaining};t=${Math.ceil(verdict.waitMs / 1000)}`,
  }
}

/**
 * The owner of one IPv6 address has all 2^64 of its network, so those count as one. An IPv4 address
 * counts as itself, however the socket writes it.
 */
export function networkOf(remoteAddress: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(remoteAddress)?.[1]
  if (mapped !== undefined) return mapped
  if (isIPv4(remoteAddress) || !isIPv6(remoteAddress)) return remoteAddress.slice(0, 64)
  const [head = '', tail] = (remoteAddress.split('%')[0] ?? '').split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last]
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

class RateLimitedError extends RequestError {
  constructor(policy: RatePolicy, verdict: RateVerdict) {
    const seconds = Math.max(Math.ceil(verdict.waitMs / 1000), 1)
    super(
      'rate_limited',
      `The limit of ${policy.limit} requests per minute is reached. Try again in ${seconds} s.`,
      {
        headers: { ...headersOf(policy, verdict), 'retry-after': String(seconds) },
        retryable: true,
      },
    )
  }
}
