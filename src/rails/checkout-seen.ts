import { recent } from '../base/cache.ts'
import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'
import type { ReadFinal } from '../chain/read/final.ts'
import type { MinedSettlement, SettlementReader } from '../chain/read/settlements.ts'
import { partReferences } from '../domain/reference.ts'
import type { Db } from '../store/database/database.ts'
import type { Charge } from '../store/rails/charges.ts'
import { readCheckoutCursor } from '../store/rails/checkouts.ts'
import { coinOf } from './checkout-judge.ts'
import type { CheckoutTerms } from './checkout.ts'

/**
 * How much of a charge was paid in blocks that are not final yet, in the smallest unit of its coin.
 * The page shows it to the payer. It does not count, since such a block may leave the chain.
 */
export type CheckoutSeen = (charge: Charge) => Promise<bigint>

export function createCheckoutSeen(deps: {
  db: Db
  terms: CheckoutTerms
  /** The newest block, final or not. */
  readHead: ReadFinal
  settlements: SettlementReader
  clock: Clock
  logger: Logger
  signal: AbortSignal
}): CheckoutSeen {
  const { terms, clock, logger } = deps
  // One look for all who wait, however many they are.
  const look = recent({
    load: async () => readUnsettled(deps),
    maxAgeMs: limits.checkoutPageMs,
    now: () => clock.now().getTime(),
  })
  return async (charge) => {
    const coin = coinOf(charge, terms)
    const isOpen = charge.status === 'pending' || charge.status === 'processing'
    if (!isOpen || charge.reference === undefined || coin === undefined) return 0n
    const references = new Set<string>(partReferences(charge.reference))
    try {
      const mined = await look()
      return mined
        .filter(({ reference, token }) => {
          return references.has(reference) && token === coin.token?.toLowerCase()
        })
        .reduce((sum, { amount }) => sum + amount, 0n)
    } catch (error) {
      // The page says all else without it.
      logger.warn({ error }, 'blocks that are not final could not be read for the checkout')
      return 0n
    }
  }
}

/** From the first block that the checkout has not counted. */
async function readUnsettled(deps: {
  db: Db
  terms: CheckoutTerms
  readHead: ReadFinal
  settlements: SettlementReader
  signal: AbortSignal
}): Promise<MinedSettlement[]> {
  const { db, terms, readHead, settlements, signal } = deps
  const head = await readHead(signal)
  const cursor = await readCheckoutCursor(db, terms)
  if (head === undefined || cursor === undefined || head <= cursor.blockNumber) return []
  const from = cursor.blockNumber + 1n
  return settlements(
    { from: head - from > MOST_BLOCKS ? head - MOST_BLOCKS : from, to: head },
    signal,
  )
}

/** More are not final on no chain for long; a checkout that is further behind catches up first. */
const MOST_BLOCKS = 256n
