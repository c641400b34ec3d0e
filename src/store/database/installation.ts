import { sql } from 'kysely'

import type { Environment } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from './database.ts'

export type Installation = {
  /** All processes of one installation make references with it. */
  referenceKey: Uint8Array
}

/**
 * Records at the first start which environment and chain the database belongs to, and refuses any
 * other later: its orders would be paid, and its records checked, on the wrong chain.
 */
export async function claimInstallation(
  db: Db,
  claimed: { environment: Environment; chainId: number },
): Promise<Installation> {
  await sql`
    insert into installation (environment, chain_id)
    values (${claimed.environment}, ${claimed.chainId})
    on conflict (id) do nothing`.execute(db)
  const { rows } = await sql<InstallationRow>`
    select environment, chain_id, reference_key from installation`.execute(db)
  const [found] = rows
  if (!found) throw new BaseError('The installation has no row.', { code: 'installation_missing' })
  if (found.environment !== claimed.environment) {
    throw new WrongInstallationError({
      what: 'environment',
      recorded: found.environment,
      claimed: claimed.environment,
      advice: `Set QUITTANCE_ENVIRONMENT, or ${USE_ANOTHER}`,
    })
  }
  if (found.chain_id !== BigInt(claimed.chainId)) {
    throw new WrongInstallationError({
      what: 'chain',
      recorded: String(found.chain_id),
      claimed: String(claimed.chainId),
      advice: `Set ETH_RPC_URL to a node of that chain, or ${USE_ANOTHER}`,
    })
  }
  return { referenceKey: Buffer.from(found.reference_key.slice(2), 'hex') }
}

type InstallationRow = { environment: Environment; chain_id: bigint; reference_key: Hex }

/** Undefined where nothing has started on the database yet. */
export async function findInstallation(
  db: Db,
): Promise<{ environment: Environment; chainId: number } | undefined> {
  const { rows } = await sql<{ environment: Environment; chain_id: bigint }>`
    select environment, chain_id from installation`.execute(db)
  const [found] = rows
  return found && { environment: found.environment, chainId: Number(found.chain_id) }
}

/** For commands that need no chain. A database that nothing has started on belongs to nobody. */
export async function requireEnvironment(db: Db, environment: Environment): Promise<void> {
  const found = await findInstallation(db)
  const recorded = found?.environment ?? environment
  if (recorded === environment) return
  throw new WrongInstallationError({
    what: 'environment',
    recorded,
    claimed: environment,
    advice: `Set QUITTANCE_ENVIRONMENT, or ${USE_ANOTHER}`,
  })
}

const USE_ANOTHER = 'use another database (DATABASE_URL or QUITTANCE_DATA).'

class WrongInstallationError extends BaseError {
  constructor(options: { what: string; recorded: string; claimed: string; advice: string }) {
    const { what, recorded, claimed, advice } = options
    super(`The database belongs to ${what} ${recorded}, not ${claimed}. ${advice}`, {
      code: `wrong_${what}`,
      details: { recorded, claimed },
    })
  }
}
