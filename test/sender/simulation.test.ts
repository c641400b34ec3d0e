import { expect } from 'chai'

import { MONEY_PLAY } from '../engines/sim/money/run.ts'
import { FAULT_KINDS } from '../engines/sim/plan.ts'
import { replay, simulate } from '../engines/sim/simulate.ts'

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

  it('pays by one permit at a time, however late each is accepted', async () => {
    const steps = Array.from({ length: 6 }, (_, at) => ({ act: 'payOutLate', at }))
    const { wrongs, counts } = await replay(MONEY_PLAY, { seed: 5, steps, without: FAULT_KINDS })
    expect(wrongs).to.deep.equal([])
    expect(counts['payments by permit completed']).to.be.greaterThan(1)
  }).timeout(120_000)
})
