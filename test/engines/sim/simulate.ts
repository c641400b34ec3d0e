import { startChain } from '../../fixtures/chain/anvil.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { runSeed, type RunOptions, type RunReport } from './run.ts'
import { createWorld, placeSettlement, START } from './world.ts'

export type Simulation = {
  /** The first one; the others follow it. */
  seed: number
  runs: number
  /** No run but the first one begins after that much time. */
  budgetMs?: number
  /** What one seed is played with; absent, payments of ether. */
  play?: (options: RunOptions) => Promise<RunReport>
  onReport: (report: RunReport) => void
}

/** One seed after the other, each on a chain of its own that begins alike, so that it repeats. */
export async function simulate(simulation: Simulation): Promise<void> {
  const { seed, runs, budgetMs = Infinity, play = runSeed, onReport } = simulation
  const endAt = performance.now() + budgetMs
  for (let run = 0; run < runs && (run === 0 || performance.now() < endAt); run++) {
    const chain = await startChain('--no-mining', '--timestamp', String(START.getTime() / 1000))
    try {
      const world = createWorld(chain.url)
      await placeSettlement(world)
      await world.rpc('anvil_setBlockTimestampInterval', [1])
      const { db } = await freshDatabase()
      onReport(await play({ seed: seed + run, db, world }))
    } finally {
      await chain.stop()
    }
  }
}
