import { startChain } from '../anvil.ts'
import { freshDatabase } from '../database.ts'
import { runSeed, type RunReport } from './run.ts'
import { createWorld, placeSettlement } from './world.ts'

export type Simulation = {
  /** The first one; the others follow it. */
  seed: number
  runs: number
  /** No run begins after that much time. */
  budgetMs?: number
  onReport: (report: RunReport) => void
}

/** Runs one seed after the other on one chain and one database. */
export async function simulate(simulation: Simulation): Promise<void> {
  const { seed, runs, budgetMs = Infinity, onReport } = simulation
  const endAt = performance.now() + budgetMs
  const chain = await startChain('--no-mining')
  try {
    const world = createWorld(chain.url)
    await placeSettlement(world)
    for (let run = 0; run < runs && performance.now() < endAt; run++) {
      const { db } = await freshDatabase()
      onReport(await runSeed({ seed: seed + run, db, world }))
    }
  } finally {
    await chain.stop()
  }
}
