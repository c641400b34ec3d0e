import { randomBytes } from 'node:crypto'

import { Gauge, type Registry } from 'prom-client'

import type { BreakChecks } from '../../api/endpoints/api/breaks.ts'
import type { RequestRun } from '../../api/endpoints/api/runs.ts'
import type { Bell } from '../../base/bells.ts'
import type { Clock } from '../../base/clock.ts'
import type { Config } from '../../base/config.ts'
import type { Logger } from '../../base/logger.ts'
import { parseAddress } from '../../chain/hex.ts'
import type { FoundContracts } from '../../chain/read/contracts.ts'
import { BREAK_KINDS } from '../../domain/breaks.ts'
import { coinOfChain } from '../../domain/coins.ts'
import { checkBreak, settleBreak } from '../../reconciler/judge/verify-break.ts'
import { createRuns, requestRun, type Runs } from '../../reconciler/runs.ts'
import type { Database, Db } from '../../store/database/database.ts'
import { countOpenBreaks } from '../../store/reconciliation/breaks.ts'
import type { Chain } from '../chain.ts'
import type { MeasuredChains } from '../metrics.ts'
import { createPanelOf } from './source.ts'

/** The runs over our own records, and what the endpoints that show them need. */
export type Reconciliation = Runs & {
  ground: { requestRun: RequestRun; breakChecks: BreakChecks }
}

export function createReconciliation(deps: {
  config: Pick<Config, 'confirmations' | 'coin'>
  database: Pick<Database, 'kind' | 'db'>
  chain: Pick<Chain, 'chainId' | 'providers' | 'isEmbedded'>
  contracts: Pick<FoundContracts, 'settlement' | 'tokens'>
  clock: Clock
  logger: Logger
  signal: AbortSignal
  /** Rung where a run was asked for. */
  bell?: Bell
  onProgress?: () => void
}): Reconciliation {
  const { config, database, chain, contracts, clock, logger, signal } = deps
  const { db } = database
  const { chainId, providers, isEmbedded } = chain
  const { confirmations, coin = coinOfChain(chainId) } = config
  const { examiner, nodes } = createPanelOf({
    chainId,
    coin,
    providers,
    confirmations,
    contracts,
    lagGraceMs: LAG_GRACE_MS,
  })
  const asking = { db, clock, randomBytes }
  const runs = createRuns({
    ...asking,
    chainId,
    examiner,
    nodes,
    providers: providers.all,
    settlement: parseAddress(contracts.settlement),
    logger,
    bell: deps.bell,
    ...(deps.onProgress && { onProgress: deps.onProgress }),
    everyMs: isEmbedded ? EMBEDDED_EVERY_MS : EVERY_MS,
    pollMs: POLL_MS,
    ...(database.kind === 'embedded' && { chunkRecords: EMBEDDED_CHUNK }),
  })
  return {
    ...runs,
    ground: {
      requestRun: (db, request) => requestRun({ ...asking, db }, { ...request, chainId }),
      breakChecks: {
        check: (db, found) => checkBreak({ db, examiner, signal }, found),
        settle: (db, settled) => settleBreak(db, { ...settled, clock }),
      },
    },
  }
}

const EVERY_MS = 15 * 60_000
const EMBEDDED_EVERY_MS = 60_000
/** The embedded database answers nobody else while it reads a chunk. */
const EMBEDDED_CHUNK = 500
const POLL_MS = 1_000
/** The follower is quicker; what it has not done by then is worth a look. */
const LAG_GRACE_MS = 120_000

/** Asked of the database at each scrape, so every process tells the same. */
export function measureBreaks(deps: { registry: Registry; db: Db; chains: MeasuredChains }): void {
  const { registry, db, chains } = deps
  const open = new Gauge({
    name: 'quittance_open_breaks',
    help: 'Disagreements between records and the chain that nobody has closed yet',
    labelNames: ['chain', 'kind'],
    registers: [registry],
    async collect() {
      for (const { name: chain, chainId } of chains()) {
        const counts = await countOpenBreaks(db, chainId)
        for (const kind of BREAK_KINDS) open.set({ chain, kind }, counts.get(kind) ?? 0)
      }
    },
  })
}
