import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop } from '../base/loop.ts'
import { parseAddress } from '../chain/hex.ts'
import type { Contracts } from '../chain/read/contracts.ts'
import type { Db } from '../store/database/database.ts'
import { readSolvency } from '../store/ledger/supply.ts'
import { countOpenBreaks } from '../store/reconciliation/breaks.ts'
import { insertSample, keepSpans, readOverview } from '../store/transactions/overview.ts'
import type { Chain } from './chain.ts'
import { healthOf } from './operations.ts'

type Sampling = { db: Db; clock: Clock }

type SampledChain = {
  chain: Pick<Chain, 'chainId' | 'providers'>
  contracts: Pick<Contracts, 'stablecoin'>
}

/** Keeps what the overview says each minute, so that there is something to plot. */
export async function keepSamples(
  deps: Sampling & { chains: () => readonly SampledChain[]; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const { chains, clock, logger, signal } = deps
  const pass = async (): Promise<void> => {
    for (const one of chains()) await takeSample({ ...deps, ...one })
  }
  await createLoop({ name: 'samples', clock, logger, intervalMs: SAMPLE_MS, pass }).run(signal)
}

const SAMPLE_MS = 60_000

export async function takeSample({
  db,
  clock,
  chain,
  contracts,
}: Sampling & SampledChain): Promise<void> {
  const { chainId, providers } = chain
  const now = clock.now()
  await keepSpans(db, { chainId, now })
  const overview = await readOverview(db, { chainId, now })
  const breaks = await countOpenBreaks(db, chainId)
  const token = parseAddress(contracts.stablecoin)
  const solvency = token && (await readSolvency(db, { chainId, token }))
  await insertSample(db, {
    chainId,
    at: now,
    claimedWei: overview.claimed.amountWei,
    settledWei: overview.settled.amountWei,
    inFlight: overview.inFlight.count,
    oldestSeconds: overview.inFlight.oldestSeconds,
    providersWell: healthOf(providers).filter(({ state }) => state === 'well').length,
    openBreaks: [...breaks.values()].reduce((sum, count) => sum + count, 0),
    supply: solvency?.supply,
    liability: solvency?.liability,
  })
}
