import { createCache } from '../base/cache.ts'
import type { Clock } from '../base/clock.ts'
import { codeOf } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { quantity } from '../chain/answers.ts'
import { agreedOn, type Quorum } from '../chain/quorum.ts'
import type { Hex } from '../domain/orders.ts'
import type { Database, Db } from '../store/database/database.ts'
import { createLane, findLane } from '../store/orders/lanes.ts'
import { nonceOnChain } from './chain-view.ts'
import type { SenderContext } from './context.ts'
import { unreachable } from './refused.ts'

/** On a server another process may take the next one, so that there none is kept for long. */
export function createCounters(
  kind: Database['kind'],
  clock: Clock,
): NonNullable<SenderContext['counters']> {
  const maxAgeMs = kind === 'embedded' ? Number.POSITIVE_INFINITY : limits.counterMs
  const counters = createCache<{ counter: bigint; setAtMs: number }>(limits.cachedPayers)
  const nowMs = (): number => clock.now().getTime()
  return {
    get(payer) {
      const known = counters.get(payer)
      return known && nowMs() - known.setAtMs < maxAgeMs ? known.counter : undefined
    },
    set: (payer, counter) => counters.set(payer, { counter, setAtMs: nowMs() }),
  }
}

/** The counter that the next order of the lane will get, unless another comes first. */
export async function counterOf(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  signer: Hex,
): Promise<bigint> {
  return context.counters?.get(signer) ?? readCounter(context, db, signer)
}

/** The same as the lane has it now; makes the lane where there is none. */
export async function readCounter(
  context: SenderContext & { quorum: Quorum },
  db: Db,
  signer: Hex,
): Promise<bigint> {
  const key = { chainId: context.chainId, signer }
  const lane = await findLane(db, key)
  if (lane !== undefined) return lane.nextCounter
  // A lane that begins too low only loses time, but one too high would begin with a gap.
  const agreed = await agreedOn(context.quorum, async (provider, signal) =>
    quantity(
      await provider.request({
        method: 'eth_getTransactionCount',
        params: [signer, 'latest'],
        signal,
      }),
      'transaction count',
    ),
  )
  const nextNonce = agreed ?? (await nonceOnChain(context.quorum, { signer, at: 'latest' }))
  if (nextNonce === undefined) throw unreachable(undefined)
  await createLane(db, { ...key, nextNonce })
  return 0n
}

/**
 * An order that was accepted meanwhile, and is mined already, has taken the reference that was
 * simulated. Then the next one is; whatever else failed stands.
 */
export async function simulateNext<T>(
  first: unknown,
  lane: {
    counter: bigint
    read: () => Promise<bigint>
    simulate: (counter: bigint) => Promise<T>
  },
): Promise<T> {
  let error = first
  let { counter } = lane
  for (let more = 0; more < MORE_SIMULATIONS && codeOf(error) === 'simulation_failed'; more++) {
    const next = await lane.read()
    if (next === counter) break
    counter = next
    try {
      return await lane.simulate(counter)
    } catch (again) {
      error = again
    }
  }
  throw error
}

/** A counter that moves each time shows a busy lane, and no longer concerns this payment. */
const MORE_SIMULATIONS = 3
