/** Seeds of the simulation: `npm run sim -- --seed 1 --runs 100 --money`. */
import { parseArgs } from 'node:util'

import { dropOwnDatabases } from '../test/support/database.ts'
import { runMoneySeed } from '../test/support/sim/money/run.ts'
import { runSeed } from '../test/support/sim/run.ts'
import { simulate } from '../test/support/sim/simulate.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '100' },
    money: { type: 'boolean', default: false },
  },
})
const [seed, runs] = [Number(values.seed), Number(values.runs)]
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(runs) || runs < 1) {
  console.error('--seed and --runs are whole numbers.')
  process.exit(2)
}

let played = 0
const failed: number[] = []
const counts: Record<string, number> = {}
const startedAt = performance.now()
await simulate({
  seed,
  runs,
  play: values.money ? runMoneySeed : runSeed,
  onReport: (report) => {
    played += 1
    process.stderr.write(`\r${played} of ${runs}, ${failed.length} wrong `)
    for (const [name, count] of Object.entries(report.counts)) {
      counts[name] = (counts[name] ?? 0) + count
    }
    counts['crashes'] = (counts['crashes'] ?? 0) + report.crashes
    if (report.wrongs.length > 0) {
      failed.push(report.seed)
      console.log(`seed ${report.seed}:\n  ${report.wrongs.join('\n  ')}`)
    }
  },
})
await dropOwnDatabases()
process.stderr.write('\r')

const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
for (const [name, count] of Object.entries(counts)) console.log(`${count} ${name}`)
console.log(`${runs} runs in ${seconds} s, ${failed.length} of them wrong`)
process.exitCode = failed.length === 0 ? 0 : 1
