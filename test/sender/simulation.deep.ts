import { expect } from 'chai'

import { CHAINS_PLAY } from '../engines/sim/chains.ts'
import { MONEY_PLAY } from '../engines/sim/money/run.ts'
import { FAULT_KINDS } from '../engines/sim/plan.ts'
import { replay, simulate, type Simulation } from '../engines/sim/simulate.ts'

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

  it('pays by one permit at a time, however late each is accepted', async () => {
    const steps = Array.from({ length: 6 }, (_, at) => ({ act: 'payOutLate', at }))
    const { wrongs, counts } = await replay(MONEY_PLAY, { seed: 5, steps, without: FAULT_KINDS })
    expect(wrongs).to.deep.equal([])
    expect(counts['payments by permit completed']).to.be.greaterThan(1)
  }).timeout(120_000)
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
