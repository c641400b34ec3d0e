import { createCache } from '../../base/cache.ts'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { takeRate } from '../../store/access/rate-limits.ts'
import type { Db } from '../../store/database/database.ts'

export type RatePolicy = {
  /** As the RateLimit header names it. */
  name: string
  limit: number
  /** Divisible by 60. */
  windowMs: number
}

export type RateVerdict = {
  isAllowed: boolean
  /** As far as this process knows. */
  remaining: number
  /** Until more becomes free. */
  waitMs: number
}

/**
 * Sliding windows that all processes on one database share. Each process reserves a fiftieth of the
 * limit at a time and spends it by itself within five seconds, so most requests cost no query. In
 * any window no more than the limit is granted, and at most what each process still holds, a
 * fiftieth of the limit, is spent later than it was granted or refused while another holds it.
 */
export type RateLimiter = {
  take: (bucket: string, policy: RatePolicy) => Promise<RateVerdict>
  /** Undoes one `take`, as for an attempt that turned out to be none. */
  giveBack: (bucket: string) => void
}

export function createRateLimiter(deps: { db: Db; clock: Clock }): RateLimiter {
  const { db, clock } = deps
  const leases = createCache<Lease>(limits.cachedRateLeases)

  async function take(bucket: string, policy: RatePolicy): Promise<RateVerdict> {
    const now = clock.now()
    const lease = leases.get(bucket) ?? createLease()
    const verdict = spend(lease, now.getTime())
    if (verdict) return verdict
    leases.set(bucket, lease)
    lease.refill ??= refill({ db, lease, bucket, policy, now }).finally(() => {
      lease.refill = undefined
    })
    await lease.refill
    // Of those who waited for the same refill, some may have to wait for another one.
    return spend(lease, clock.now().getTime()) ?? take(bucket, policy)
  }

  return {
    take,
    giveBack(bucket) {
      const lease = leases.get(bucket)
      if (lease) lease.left += 1
    },
  }
}

type Lease = {
  left: number
  endsAtMs: number
  slot: number
  /** What the database had left for others at the last refill. */
  elsewhere: number
  freeAtMs: number
  /** The limit was reached: until then the database is not asked again. */
  blockedUntilMs: number
  refill: Promise<void> | undefined
}

function createLease(): Lease {
  return {
    left: 0,
    endsAtMs: 0,
    slot: 0,
    elsewhere: 0,
    freeAtMs: 0,
    blockedUntilMs: 0,
    refill: undefined,
  }
}

/** Undefined where only the database can tell. */
function spend(lease: Lease, nowMs: number): RateVerdict | undefined {
  const waitMs = Math.max(lease.freeAtMs - nowMs, 0)
  if (lease.left > 0 && nowMs < lease.endsAtMs) {
    lease.left -= 1
    return { isAllowed: true, remaining: lease.left + lease.elsewhere, waitMs }
  }
  if (nowMs < lease.blockedUntilMs) return { isAllowed: false, remaining: 0, waitMs }
  return undefined
}

async function refill(options: {
  db: Db
  lease: Lease
  bucket: string
  policy: RatePolicy
  now: Date
}): Promise<void> {
  const { db, lease, bucket, policy, now } = options
  const { limit, windowMs } = policy
  const returned = { units: lease.left, slot: lease.slot }
  lease.left = 0
  const wanted = Math.max(Math.floor(limit / LEASES_PER_LIMIT), 1)
  const grant = await takeRate(db, { bucket, limit, windowMs, wanted, now, returned })
  // What was given back meanwhile stays.
  lease.left += grant.granted
  lease.slot = grant.slot
  lease.endsAtMs = now.getTime() + Math.min(limits.rateLeaseMs, windowMs / 12)
  lease.elsewhere = Math.max(limit - grant.taken, 0)
  lease.freeAtMs = now.getTime() + grant.freeAfterMs
  if (grant.granted > 0) return
  // Another process may give something back before a slot becomes free.
  lease.blockedUntilMs = now.getTime() + Math.min(grant.freeAfterMs, windowMs / 60)
}

const LEASES_PER_LIMIT = 50
