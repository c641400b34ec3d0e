import { expect } from 'chai'

import { CHAINS_PLAY } from '../engines/sim/chains.ts'
import { simulate, type Simulation } from '../engines/sim/simulate.ts'

/** `npm run sim` runs as many seeds as one asks for; here time bounds them. */
const SEEDS = 300
const BUDGET_MS = 9_000
const CHAINS_BUDGET_MS = 3_000

describe('the sender under faults and crashes', () => {
  it('pays every order once, or says that it did not', async () => {
    expect(await wrongsIn({ seed: 1, runs: SEEDS, budgetMs: BUDGET_MS })).to.deep.equal({})
  })

  it('keeps two chains of one database apart', async () => {
    const budgetMs = CHAINS_BUDGET_MS
    const wrongs = await wrongsIn({ seed: 1, runs: SEEDS, budgetMs, play: CHAINS_PLAY })
    expect(wrongs).to.deep.equal({})
  })
})

async function wrongsIn(runs: Omit<Simulation, 'onReport'>): Promise<Record<number, string[]>> {
  const wrongs: Record<number, string[]> = {}
  await simulate({
    ...runs,
    onReport: (report) => {
      if (report.wrongs.length > 0) wrongs[report.seed] = report.wrongs
    },
  })
  return wrongs
}
