import type { Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'

/** Payments of mainnet are worth a database that flushes to the disk. */
export function requireDurable({ databaseUrl, allowsEmbeddedMainnet }: Config): void {
  if (databaseUrl === undefined && !allowsEmbeddedMainnet) throw new EmbeddedMainnetError()
}

/** Parts that run apart meet in one database, and on one chain. */
export function requireShared(config: Config, role: string): void {
  const missing = [
    ...(config.databaseUrl ? [] : ['DATABASE_URL']),
    ...(config.rpcUrls.length > 0 ? [] : ['ETH_RPC_URL']),
  ]
  if (missing.length > 0) throw new NotSharedError(role, missing)
}

class NotSharedError extends BaseError {
  constructor(role: string, missing: string[]) {
    super(
      `${role} shares a database and a chain with other processes: set ${missing.join(' and ')}. ` +
        'To run everything in one process, use `up`.',
      { code: 'not_shared', details: { missing } },
    )
  }
}

class EmbeddedMainnetError extends BaseError {
  constructor() {
    super(
      'The embedded database does not flush to the disk: a power cut could lose payments on ' +
        'Ethereum mainnet. ' +
        'Set DATABASE_URL to a PostgreSQL server, or accept the risk with QUITTANCE_EMBEDDED_MAINNET=yes.',
      { code: 'embedded_mainnet' },
    )
  }
}
