import { expect } from 'chai'

import { simulate } from '../engines/sim/simulate.ts'

/** `npm run sim` runs as many seeds as one asks for; here time bounds them. */
const SEEDS = 300
const BUDGET_MS = 12_000

describe('the sender under faults and crashes', () => {
  it('pays every order once, or says that it did not', async () => {
    const wrongs: Record<number, string[]> = {}
    const runs = { seed: 1, runs: SEEDS, budgetMs: BUDGET_MS }
    await simulate({
      ...runs,
      onReport: (report) => {
        if (report.wrongs.length > 0) wrongs[report.seed] = report.wrongs
      },
    })
    expect(wrongs).to.deep.equal({})
  })
})
