import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { FAULT_KINDS, type Plan } from './plan.ts'
import { ETHER_PLAY, type Play, type RunReport } from './run.ts'
import { CHAIN_ID, createWorld, placeSettlement, START, type World } from './world.ts'

export type Simulation = {
  /** The first one; the others follow it. */
  seed: number
  runs: number
  /** No run but the first one begins after that much time. */
  budgetMs?: number
  /** Asked before each run but the first one. */
  isEnough?: () => boolean
  /** What one seed is played with; absent, payments of ether. */
  play?: Play
  onReport: (report: RunReport) => void
}

/** One seed after the other. */
export async function simulate(simulation: Simulation): Promise<void> {
  const { seed, runs, budgetMs = Infinity, play = ETHER_PLAY, onReport } = simulation
  const { isEnough = () => false } = simulation
  const endAt = performance.now() + budgetMs
  for (let run = 0; run < runs; run++) {
    if (run > 0 && (performance.now() >= endAt || isEnough())) return
    onReport(await replay(play, play.plan(seed + run)))
  }
}

/** Plays a plan on chains and a database of its own that begin alike, so that it repeats. */
export async function replay(play: Play, plan: Plan): Promise<RunReport> {
  const chains: TestChain[] = []
  try {
    const worlds: World[] = []
    for (let at = 0; at < (play.chains ?? 1); at++) {
      const chainId = CHAIN_ID + at
      const clock = ['--timestamp', String(START.getTime() / 1000)]
      chains.push(await startChain('--no-mining', '--chain-id', String(chainId), ...clock))
      const world = createWorld(chains[at]!.url, chainId)
      await placeSettlement(world)
      await world.rpc('anvil_setBlockTimestampInterval', [1])
      worlds.push(world)
    }
    const { db } = await freshDatabase()
    return await play.run({ plan, db, world: worlds[0]!, worlds })
  } finally {
    for (const chain of chains) await chain.stop()
  }
}

/** What could have gone wrong and never did: such a simulation proves less than it says. */
export function neverFired(play: Play, counts: Readonly<Record<string, number>>): string[] {
  const names = [
    ...FAULT_KINDS.filter((kind) => play.faults.includes(kind)).map((kind) => `fault ${kind}`),
    ...play.acts.map((act) => `act ${act}`),
    ...play.outcomes,
  ]
  return names.filter((name) => (counts[name] ?? 0) === 0)
}
