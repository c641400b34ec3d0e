import type { Registry } from 'prom-client'

import type { HealthCheck } from '../api/health.ts'
import type { Bells } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import type { Logger } from '../base/logger.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { Watchdog } from '../base/watchdog.ts'
import type { FoundContracts } from '../chain/read/contracts.ts'
import type { Signers } from '../chain/signers/signer.ts'
import type { ChainNames } from '../domain/chains.ts'
import type { Database, Db } from '../store/database/database.ts'
import type { Chain } from './chain.ts'
import type { OwnParts } from './start/own-parts.ts'

/** What every part needs. */
export type Ground = {
  config: Config
  logger: Logger
  clock: Clock
  registry: Registry
  shutdown: Shutdown
  watchdog: Watchdog
  /** The parts of `/readyz` that are not loops. Each is added when it starts. */
  checks: HealthCheck[]
  /** What the operator has accepted, and should not forget. */
  warnings: readonly string[]
  database: Database
  db: Db
  /** What loops are woken by. */
  bells: Bells
  /** What the program that runs it has brought. */
  own: OwnParts
  signers: Signers
  referenceKey: Uint8Array
}

/** A chain whose providers answer: what is set for it, and the contracts on it. */
export type OpenChain = ChainNames & {
  config: Config
  chain: Chain
  contracts: FoundContracts
}
