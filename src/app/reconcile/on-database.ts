import { randomBytes } from 'node:crypto'

import { toRunWire } from '../../api/endpoints/api/runs.ts'
import { systemClock } from '../../base/clock.ts'
import type { Config } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { createLogger } from '../../base/logger.ts'
import { findContracts } from '../../chain/read/contracts.ts'
import { readChainId } from '../../chain/rpc/chain-id.ts'
import { createProviders } from '../../chain/rpc/providers.ts'
import { requestRun } from '../../reconciler/runs.ts'
import type { Db } from '../../store/database/database.ts'
import { claimInstallation } from '../../store/database/installation.ts'
import { listBreaks } from '../../store/reconciliation/breaks.ts'
import { findRun } from '../../store/reconciliation/runs.ts'
import { requireMigrated, withDatabase } from '../database.ts'
import { requireTrustedProviders } from '../trusted-providers.ts'
import type { Desk } from './on-server.ts'
import { createReconciliation } from './reconciliation.ts'

const PAGE = 1_000

/** Runs a worker until the work at the desk is done. Other workers may run at the same time. */
export async function withDatabaseDesk<T>(
  { config, signal }: { config: Config; signal: AbortSignal },
  work: (desk: Desk) => Promise<T>,
): Promise<T> {
  const urls = config.rpcUrls
  if (urls.length === 0) {
    throw new BaseError(
      'DATABASE_URL is set, and no provider is. Set ETH_RPC_URL or QUITTANCE_CHAINS.',
      { code: 'provider_missing' },
    )
  }
  const logger = createLogger({ level: config.logLevel ?? 'warn' })
  for (const warning of requireTrustedProviders(config)) logger.warn(warning)
  return withDatabase({ config, signal }, async (database) => {
    await requireMigrated(database)
    const { db } = database
    const chainId = config.chainId ?? (await readChainId({ urls, signal }))
    const [usual] = config.chains
    const usualId = usual?.chainId ?? chainId
    await claimInstallation(db, { environment: config.environment, chainId: usualId })
    const clock = systemClock
    const providers = createProviders({ urls, chainId, clock, random: Math.random })
    const done = new AbortController()
    const reconciliation = createReconciliation({
      config,
      database,
      chain: {
        chainId,
        providers,
        isEmbedded: false,
      },
      contracts: await findContracts(providers, {
        settlement: config.settlementAddress,
        stablecoin: config.stablecoinAddress,
        tokens: config.tokens,
      }),
      clock,
      logger,
      signal,
    })
    let working: Promise<void> | undefined
    try {
      const desk = createDesk({ db, chainId })
      return await work({
        ...desk,
        async begin(of) {
          const run = await desk.begin(of)
          working = reconciliation.run(AbortSignal.any([signal, done.signal]))
          return run
        },
      })
    } finally {
      done.abort()
      await working
    }
  })
}

function createDesk({ db, chainId }: { db: Db; chainId: number }): Desk {
  const clock = systemClock
  return {
    chainId,
    async begin({ since, until }) {
      const request = { chainId, requestedBy: 'command', since, until }
      return toRunWire(await requestRun({ db, clock, randomBytes }, request))
    },
    async read(runId) {
      const run = await findRun(db, runId)
      if (run === undefined) {
        throw new BaseError(`The run ${runId} no longer exists.`, { code: 'run_lost' })
      }
      return toRunWire(run)
    },
    async openBreaks(cursor) {
      const before = cursor === undefined ? undefined : BigInt(cursor)
      const page = { before, limit: PAGE, now: clock.now() }
      const findings = await listBreaks(db, { chainId, state: 'open' }, page)
      const isFull = findings.length === PAGE
      return { findings, next: isFull ? String(findings.at(-1)?.key) : undefined }
    },
  }
}
