import { Gauge, type Registry } from 'prom-client'

import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { Watchdog } from '../base/watchdog.ts'
import { createFinal } from '../chain/read/final.ts'
import { createIssuedReader } from '../chain/read/issued.ts'
import { createSupplyReader, type SupplyReader } from '../chain/read/supply.ts'
import type { Providers } from '../chain/rpc/providers.ts'
import { LEDGER_DECIMALS } from '../domain/money.ts'
import type { LedgerContext, Stablecoin } from '../ledger/context.ts'
import { createSupplyWatch } from '../ledger/watch-supply.ts'
import type { Db } from '../store/database/database.ts'
import { countFindings, readSolvency } from '../store/ledger/supply.ts'
import type { Chain } from './chain.ts'

type SupplyGround = {
  config: Config
  chain: Chain
  db: Db
  clock: Clock
  logger: Logger
  registry: Registry
  shutdown: Shutdown
}

/** Where there is a stablecoin: its mints and burns are read, and its supply is measured. */
export function startSupply(
  ground: SupplyGround,
  {
    ledger,
    works,
    watch: watchLoop,
  }: { ledger: LedgerContext; works: boolean; watch: Watchdog['watch'] },
): void {
  const { stablecoin } = ledger
  if (stablecoin === undefined) return
  const { config, chain, db, clock, logger, registry, shutdown } = ground
  const { providers } = chain
  measureSupply(registry, db, stablecoin)
  if (!works) return
  const watch = createSupplyWatch({
    db,
    clock,
    logger,
    stablecoin,
    context: ledger,
    readFinal: createFinal({ providers, finality: config.confirmations }),
    supply: supplyReaderOf(providers, stablecoin),
    pollIntervalMs: chain.isEmbedded ? Math.min(config.blockMs, 1000) : 4000,
    onProgress: watchLoop('supply watch', limits.supplyStillMs),
  })
  const watching = watch.run(shutdown.signal)
  shutdown.add('the watch over the supply', () => watching)
}

/** Of a token with other minters only what is ours is read. */
function supplyReaderOf(providers: Providers, { token, issuer }: Stablecoin): SupplyReader {
  return issuer === undefined
    ? createSupplyReader({ providers, token })
    : createIssuedReader({ providers, token, issuer: issuer.address })
}

/** Asked of the database at each scrape, so every process tells the same. */
export function measureSupply(registry: Registry, db: Db, stablecoin: Stablecoin): void {
  const registers = [registry]
  const drift = new Gauge({
    name: 'quittance_supply_drift_dollars',
    help: 'Stablecoin on the chain beyond what the ledger owes; anything but 0 is wrong',
    registers,
    async collect() {
      const solvency = await readSolvency(db, stablecoin)
      drift.set(Number(solvency?.drift ?? 0n) / 10 ** LEDGER_DECIMALS)
    },
  })
  const findings = new Gauge({
    name: 'quittance_supply_findings',
    help: 'Mints and burns that fit no order',
    labelNames: ['finding'],
    registers,
    async collect() {
      const counts = await countFindings(db, stablecoin.chainId)
      findings.reset()
      for (const [finding, count] of counts) findings.set({ finding }, count)
    },
  })
}
