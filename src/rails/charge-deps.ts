import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import { codeOf, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Db } from '../store/database/database.ts'
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

/** In a word, for the row and for the log. */
export function troubleOf(error: unknown): string {
  const word = error instanceof RailError ? error.reason : (codeOf(error) ?? messageOf(error))
  return word.slice(0, 64) || 'failed'
}
