import { isBundle, type Route } from '../domain/orders.ts'
import { unreachable } from './refused.ts'
import type { SenderContext } from './context.ts'
import type { Quorum } from '../chain/quorum.ts'

/**
 * What a rollup may charge for a payment beside its gas, so that no payment is accepted whose fee
 * the balance cannot carry.
 */
export async function mostRollupFee(
  { readRollupFee, quorum }: SenderContext & { quorum: Quorum },
  { route, bundled, gas }: { route: Route; bundled: readonly unknown[]; gas: bigint },
): Promise<bigint> {
  if (readRollupFee === undefined) return 0n
  const words = isBundle(route) ? BUNDLE_WORDS + ITEM_WORDS * bundled.length : CALL_WORDS
  const bytes = BARE_BYTES + (route === 'direct' ? 0 : words * WORD_BYTES)
  try {
    return await readRollupFee({ bytes, gas }, quorum.signal)
  } catch (error) {
    throw unreachable(error)
  }
}

/** A transaction without calldata, unsigned, and a selector. */
const BARE_BYTES = 124
const WORD_BYTES = 32
/** A payment by a permit has the most arguments. */
const CALL_WORDS = 8
/** The token, where three lists are, and how long each is. */
const BUNDLE_WORDS = 7
/** Reference, payee and amount. */
const ITEM_WORDS = 3
