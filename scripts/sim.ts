/** Seeds of the simulation: `npm run sim -- --seed 1 --runs 100 --money`. */
import { runMoneySeed } from '../test/engines/sim/money/run.ts'
import { runSeed } from '../test/engines/sim/run.ts'
import { simulate } from '../test/engines/sim/simulate.ts'
import { positive, scriptCommand, wholeNumber } from '../test/fixtures/script.ts'
import { dropOwnDatabases } from '../test/fixtures/store/database.ts'

const about =
  'Drives the sender against a real chain behind faults, crashing it at any await, and compares.'
const { seed, runs, money } = scriptCommand('sim', about)
  .option('--seed <number>', 'the first seed', wholeNumber, 1)
  .option('--runs <count>', 'how many seeds', positive, 100)
  .option('--money', 'mint, burn and redeem beside a bank')
  .parse()
  .opts<{ seed: number; runs: number; money?: boolean }>()

let played = 0
const failed: number[] = []
const counts: Record<string, number> = {}
const startedAt = performance.now()
await simulate({
  seed,
  runs,
  play: money ? runMoneySeed : runSeed,
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
