import { Gauge, type Registry } from 'prom-client'

import type { Bell, Bells } from '../base/bells.ts'
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
import { watchMs, type Chain } from './chain.ts'

type SupplyGround = {
  config: Config
  chain: Chain
  /** Of what happens in final blocks. */
  blocks: Bell
  bells: Bells
  db: Db
  clock: Clock
  logger: Logger
  shutdown: Shutdown
}

/** Where there is a stablecoin: its mints and burns are read, and its supply is measured. */
export function startSupply(
  ground: SupplyGround,
  {
    ledger,
    stablecoin,
    works,
    watch: watchLoop,
  }: {
    ledger: LedgerContext
    stablecoin: Stablecoin | undefined
    works: boolean
    watch: Watchdog['watch']
  },
): void {
  if (stablecoin === undefined || !works) return
  const { config, chain, blocks, bells, db, clock, logger, shutdown } = ground
  const { providers } = chain
  const watch = createSupplyWatch({
    db,
    clock,
    logger,
    stablecoin,
    startBlock: config.startBlock,
    context: ledger,
    readFinal: createFinal({ providers, finality: config.confirmations }),
    supply: supplyReaderOf(providers, stablecoin),
    pollIntervalMs: watchMs(chain, config),
    bell: blocks,
    onBurnt: bells.of('wires').ring,
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
export function measureSupply(
  registry: Registry,
  db: Db,
  dollars: () => ReadonlyArray<{ name: string; stablecoin: Stablecoin | undefined }>,
): void {
  const registers = [registry]
  const drift = new Gauge({
    name: 'quittance_supply_drift_dollars',
    help: 'Supply of the stablecoin minus what the ledger owes, in USD; every value but 0 is wrong',
    labelNames: ['chain'],
    registers,
    async collect() {
      for (const { name: chain, stablecoin } of dollars()) {
        if (stablecoin === undefined) continue
        const solvency = await readSolvency(db, stablecoin)
        drift.set({ chain }, Number(solvency?.drift ?? 0n) / 10 ** LEDGER_DECIMALS)
      }
    },
  })
  const findings = new Gauge({
    name: 'quittance_supply_findings',
    help: 'Mints and burns that fit no order',
    labelNames: ['chain', 'finding'],
    registers,
    async collect() {
      findings.reset()
      for (const { name: chain, stablecoin } of dollars()) {
        if (stablecoin === undefined) continue
        const counts = await countFindings(db, stablecoin.chainId)
        for (const [finding, count] of counts) findings.set({ chain, finding }, count)
      }
    },
  })
}
