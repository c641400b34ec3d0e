/**
 * Seeds of the simulation: `npm run sim -- --seed 1 --runs 100 --money`. A red seed is cut down to
 * the shortest plan that is still red, which is printed; `--replay PLAN` plays it again.
 */
import { CHAINS_PLAY } from '../test/engines/sim/chains.ts'
import { MONEY_PLAY } from '../test/engines/sim/money/run.ts'
import { shrink, type Plan } from '../test/engines/sim/plan.ts'
import { ETHER_PLAY, type RunReport } from '../test/engines/sim/run.ts'
import { neverFired, replay, simulate } from '../test/engines/sim/simulate.ts'
import { positive, scriptCommand, wholeNumber } from '../test/fixtures/script.ts'
import { dropOwnDatabases } from '../test/fixtures/store/database.ts'

/** With fewer seeds a kind of fault may well not have come to be. */
const ENOUGH_RUNS = 50

type Options = {
  seed: number
  runs: number
  money?: boolean
  chains: number
  replay?: string
  shrink: boolean
  bail?: boolean
}

const about =
  'Drives the sender against a real chain behind faults, crashing it at any await, and compares.'
const options = scriptCommand('sim', about)
  .option('--seed <number>', 'the first seed', wholeNumber, 1)
  .option('--runs <count>', 'how many seeds', positive, 100)
  .option('--money', 'mint, burn and redeem beside a bank, and pay in dollars')
  .option('--chains <count>', 'pay on one chain, or on 2 out of one database', positive, 1)
  .option('--replay <plan>', 'play this plan alone, as a shrink has printed it')
  .option('--no-shrink', 'leave a red seed as it is')
  .option('--bail', 'end with the first red seed')
  .parse()
  .opts<Options>()

if (options.chains > 2 || (options.chains === 2 && options.money)) {
  throw new Error('The simulation knows one chain or two, and --money on one.')
}
const play = options.money ? MONEY_PLAY : options.chains === 2 ? CHAINS_PLAY : ETHER_PLAY
const failed: RunReport[] = []
const counts: Record<string, number> = {}
let played = 0
const startedAt = performance.now()

const onReport = (report: RunReport): void => {
  played += 1
  process.stderr.write(`\r${played} played, ${failed.length} wrong `)
  for (const [name, count] of Object.entries(report.counts)) {
    counts[name] = (counts[name] ?? 0) + count
  }
  if (report.wrongs.length === 0) return
  failed.push(report)
  console.log(`seed ${report.seed}:\n  ${report.wrongs.join('\n  ')}`)
}

if (options.replay !== undefined) {
  onReport(await replay(play, JSON.parse(options.replay) as Plan))
} else {
  const { seed, runs, bail = false } = options
  await simulate({ seed, runs, play, onReport, isEnough: () => bail && failed.length > 0 })
}
process.stderr.write('\r')
for (const name of Object.keys(counts).toSorted()) console.log(`${counts[name]} ${name}`)
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${played} runs in ${seconds} s, ${failed.length} of them wrong`)

const silent = played >= ENOUGH_RUNS ? neverFired(play, counts) : []
if (silent.length > 0)
  console.log(`Never happened, so nothing is known of it: ${silent.join(', ')}`)
const [red] = failed
if (red !== undefined && options.shrink && options.replay === undefined) {
  const isRed = async (plan: Plan) => (await replay(play, plan)).wrongs.length > 0
  const plan = await shrink(play.plan(red.seed), isRed)
  console.log(`The shortest that is still red, to keep in test/sender/simulation.deep.ts:`)
  console.log(`  ${JSON.stringify(plan)}`)
}
await dropOwnDatabases()
process.exitCode = failed.length === 0 && silent.length === 0 ? 0 : 1
