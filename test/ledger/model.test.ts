import { expect } from 'chai'
import * as fc from 'fast-check'

import { ACTS, createPlay, type Step } from '../engines/ledger-play.ts'
import { readLedger } from '../fixtures/books/money.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom(...ACTS),
    amount: fc.bigInt({ min: 1n, max: 4_000n }).map((cents) => cents * 10_000n),
    whose: fc.constantFrom(0, 1),
    pick: fc.nat({ max: 7 }),
    way: fc.constantFrom('well', 'badly', 'first'),
  }),
  { minLength: 10, maxLength: 40 },
)

describe('the ledger beside a simple model', () => {
  it('has what the model has after every step, whatever happens in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { db } = await freshDatabase()
        const play = await createPlay(db)
        for (const step of all) {
          await play.take(step)
          expect(await play.read()).to.deep.equal(play.expected())
        }
        expect(await play.drift()).to.equal(0n)
        expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
      }),
      { numRuns: 12, seed: 20_26, endOnFailure: true },
    )
  })
})
