import { expect } from 'chai'

import { runMoneySeed } from '../support/sim/money/run.ts'
import { simulate } from '../support/sim/simulate.ts'

/** `npm run sim -- --money` runs as many seeds as one asks for; here time bounds them. */
const SEEDS = 3
const BUDGET_MS = 4_000

describe('mint and redeem under faults, reorgs and crashes', function () {
  this.timeout(20 * BUDGET_MS)

  it('lose no money and pay none twice, and the ledger owes what the chain has', async () => {
    const wrongs: Record<number, string[]> = {}
    await simulate({
      seed: 1,
      runs: SEEDS,
      budgetMs: BUDGET_MS,
      play: runMoneySeed,
      onReport: (report) => {
        if (report.wrongs.length > 0) wrongs[report.seed] = report.wrongs
      },
    })
    expect(wrongs).to.deep.equal({})
  })
})
