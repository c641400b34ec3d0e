/** Random operations on the real ledger, beside a model: `npm run ledger -- --steps 100000`. */
import { isDeepStrictEqual } from 'node:util'

import { ACTS, createPlay, type Play, type Step } from '../test/engines/ledger-play.ts'
import { readLedger } from '../test/fixtures/books/money.ts'
import { createRandom, type Random } from '../test/fixtures/random.ts'
import { positive, scriptCommand, wholeNumber } from '../test/fixtures/script.ts'
import { dropOwnDatabases, freshDatabase } from '../test/fixtures/store/database.ts'

const about = 'Does random operations on the ledger beside a simple model, and compares.'
const { seed, steps } = scriptCommand('ledger', about)
  .option('--seed <number>', 'which operations', wholeNumber, 1)
  .option('--steps <count>', 'how many', positive, 100_000)
  .parse()
  .opts<{ seed: number; steps: number }>()

/** What goes wrong stays wrong, so that it shows at the next comparison. */
const COMPARE_EVERY = 10
/** All postings are added up again after so many steps: it reads every one of them. */
const ADD_UP_EVERY = 1_000
const REPORT_EVERY = 10_000

const { db, kind } = await freshDatabase()
const play = await createPlay(db)
const random = createRandom(`ledger ${seed}`)
const wrongs = { 'sums off': 0, 'balances astray': 0, 'supply drifts': 0, 'model disagrees': 0 }
console.log(`${steps} random operations, seed ${seed}, ${kind} engine`)
const startedAt = performance.now()
for (let done = 1; done <= steps; done++) {
  await play.take(nextStep(random))
  if (done % COMPARE_EVERY === 0 || done === steps) await compare(play)
  if (done % ADD_UP_EVERY === 0 || done === steps) await addUp(play)
  if (done % REPORT_EVERY === 0) console.log(`${done} done, ${JSON.stringify(wrongs)}`)
}
const seconds = (performance.now() - startedAt) / 1000
for (const [name, count] of Object.entries(play.counts())) console.log(`${count} ${name}`)
for (const [name, count] of Object.entries(wrongs)) console.log(`${count} ${name}`)
console.log(`${steps} operations in ${seconds.toFixed(0)} s`)
await dropOwnDatabases()
process.exitCode = Object.values(wrongs).every((count) => count === 0) ? 0 : 1

async function compare({ read, expected }: Play): Promise<void> {
  if (!isDeepStrictEqual(await read(), expected())) wrongs['model disagrees'] += 1
}

async function addUp({ drift }: Play): Promise<void> {
  const { sum, astray } = await readLedger(db)
  if (sum !== 0n) wrongs['sums off'] += 1
  wrongs['balances astray'] += astray
  if ((await drift()) !== 0n) wrongs['supply drifts'] += 1
}

function nextStep(from: Random): Step {
  return {
    act: from.pick(ACTS),
    amount: BigInt(1 + from.below(4_000)) * 10_000n,
    whose: from.pick([0, 1] as const),
    pick: from.below(24),
    way: from.pick(['well', 'badly', 'first'] as const),
  }
}
