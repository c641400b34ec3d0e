import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import { codeOf, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { backoffMs } from '../base/loop.ts'
import type { Db } from '../store/database/database.ts'
import type { Due } from '../store/database/leases.ts'
import type { Charge } from '../store/rails/charges.ts'
import type { GatewayAdapter } from './gateway.ts'
import { RailError } from './reply.ts'

export type ChargePolicy = {
  pollIntervalMs: number
  /** How soon a charge is looked at again; twice as long after each look in vain. */
  firstLookMs: number
  maxLookMs: number
  /** After so long nobody pays any more; a webhook still wakes it. */
  watchMs: number
  leaseMs: number
}

export const CHARGE_POLICY: ChargePolicy = {
  pollIntervalMs: 1000,
  firstLookMs: 10_000,
  maxLookMs: 3_600_000,
  watchMs: 30 * 24 * 3_600_000,
  leaseMs: 60_000,
}

export type ChargeRailDeps = {
  db: Db
  /** By gateway id. */
  adapters: ReadonlyMap<number, GatewayAdapter>
  clock: Clock
  logger: Logger
  policy: ChargePolicy
  bell?: Bell
  onProgress?: (() => void) | undefined
}

/** Under an id that another kind of gateway has got since, nobody is asked. */
export function adapterOf(
  { adapters }: Pick<ChargeRailDeps, 'adapters'>,
  { gatewayId, kind }: Pick<Charge, 'gatewayId' | 'kind'>,
): GatewayAdapter {
  const adapter = adapters.get(gatewayId)
  if (adapter?.kind === kind) return adapter
  throw new RailError('rail_unauthorized', 'gateway_not_configured')
}

type NextLook = { dueAt: Date; trouble: string | undefined }

/** What is followed at a gateway until nothing more becomes of it. */
type Followed<Row, News> = {
  /** As the log calls it, and the field that names one. */
  what: string
  id: keyof Row & string
  lease: (db: Db, due: Due) => Promise<Row[]>
  look: (row: Row) => Promise<News>
  /** Without news, the look was in vain. */
  release: (row: Row, next: NextLook, news?: News) => Promise<void>
}

const BATCH = 10

/** Looks at those that are due, a batch of them at once; true where there may be more. */
export async function lookAtDue<Row extends { tries: number }, News>(
  { db, clock, logger, policy }: ChargeRailDeps,
  signal: AbortSignal,
  { what, id, lease, look, release }: Followed<Row, News>,
): Promise<boolean> {
  const { leaseMs, firstLookMs: firstMs, maxLookMs: maxMs } = policy
  const now = clock.now()
  const until = new Date(now.getTime() + leaseMs)
  const leased = await lease(db, { now, until, limit: BATCH })
  const lookAt = async (row: Row): Promise<void> => {
    const { tries } = row
    let news: News | undefined
    let trouble: string | undefined
    try {
      news = await look(row)
    } catch (error) {
      // One that fails waits for its next turn, and keeps no other from its own.
      if (signal.aborted) return
      trouble = troubleOf(error)
      logger.warn({ [id]: row[id], tries, trouble }, `a ${what} waits for its next turn`)
    }
    const dueAt = new Date(clock.now().getTime() + backoffMs({ tries, firstMs, maxMs }))
    await release(row, { dueAt, trouble }, news)
  }
  await Promise.all(leased.map(lookAt))
  return leased.length === BATCH
}

/** In a word, for the row and for the log. */
function troubleOf(error: unknown): string {
  const word = error instanceof RailError ? error.reason : (codeOf(error) ?? messageOf(error))
  return word.slice(0, 64) || 'failed'
}
