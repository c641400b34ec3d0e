/** Runs every part, one after the other, and puts what they found into one table and one file. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

import { formatGrowth, formatRows, type BenchRow } from '../../test/engines/bench/result.ts'
import { positive, scriptCommand } from '../../test/fixtures/script.ts'

type Settings = Readonly<Record<string, string>>

/** Each with its sizes for `--small`, which shows that it runs and measures little. */
const PARTS: Readonly<Record<string, Settings>> = {
  gas: {},
  start: {},
  list: { BENCH_ROWS: '10000', BENCH_ROUNDS: '5', BENCH_SHAPE: 'one day' },
  api: { BENCH_ROUNDS: '3', BENCH_REQUESTS: '50' },
  ledger: { BENCH_TRANSFERS: '200' },
  pay: { BENCH_PAYMENTS: '60' },
  webhooks: { BENCH_RATE: '20', BENCH_SECONDS: '2' },
  proofs: { BENCH_PAYMENTS: '20', BENCH_ROUNDS: '3' },
  reconcile: { BENCH_SETTLEMENTS: '2000', BENCH_DIRECT: '200' },
  breaks: { BENCH_GOOD: '2000', BENCH_BREAKS: '20' },
  runs: { BENCH_SETTLEMENTS: '2000', BENCH_PEER: '100' },
  console: { BENCH_ROWS: '5000', BENCH_ROUNDS: '3' },
  find: { BENCH_ROWS: '5000', BENCH_ROUNDS: '3' },
}

/** The parts that `--growth` runs at several sizes, and what sets each one's size. */
const GROWING: Settings = {
  list: 'BENCH_ROWS',
  reconcile: 'BENCH_SETTLEMENTS',
  runs: 'BENCH_SETTLEMENTS',
}

const FOLDER = 'bench-results'

const command = scriptCommand('bench', 'Measures every part, each beside its peer in the same run.')
  .argument('[parts...]', `which: ${Object.keys(PARTS).join(', ')} (default: all)`)
  .option('--small', 'shows in minutes that all of it runs, and measures little')
  .option('--growth', `${Object.keys(GROWING).join(', ')} at several sizes, side by side`)
  .option('--sizes <counts>', 'which sizes (default: 10000,100000,1000000)', sizesOf)
  .parse()
const {
  small = false,
  growth = false,
  sizes = [10_000, 100_000, 1_000_000],
} = command.opts<{ small?: boolean; growth?: boolean; sizes?: number[] }>()
const known = Object.keys(growth ? GROWING : PARTS)
const unknown = command.args.filter((part) => !known.includes(part))
if (unknown.length > 0) {
  command.error(`There is no part ${unknown.join(', ')}. There are ${known.join(', ')}.`)
}
const parts = known.filter((part) => command.args.length === 0 || command.args.includes(part))
const failed: string[] = []

mkdirSync(FOLDER, { recursive: true })
if (growth) {
  const rows = parts.flatMap((part) =>
    sizes.flatMap((size) =>
      run(part, { [GROWING[part]!]: String(size) }).map((row) => ({ ...row, size })),
    ),
  )
  tell('growth', { rows, table: formatGrowth(rows) })
} else {
  const rows = parts.flatMap((part) => run(part, small ? PARTS[part]! : {}))
  tell('bench', { rows, table: formatRows(rows) })
}

function sizesOf(text: string): number[] {
  return text.split(',').map(positive)
}

/** A part that fails leaves none of an earlier run behind. */
function run(part: string, settings: Settings): BenchRow[] {
  const told = join(FOLDER, `${part}.json`)
  rmSync(told, { force: true })
  const title = [part, ...Object.values(growth ? settings : {})].join(' ')
  console.log(`\n== ${title}`)
  const { status } = spawnSync('npm', ['run', '--silent', `bench:${part}`], {
    env: { ...settings, ...process.env, ...(growth && settings), BENCH_RESULT: told },
    stdio: 'inherit',
  })
  if (status === 0 && existsSync(told)) return JSON.parse(readFileSync(told, 'utf8')) as BenchRow[]
  failed.push(title)
  return []
}

function tell(name: string, { rows, table }: { rows: readonly BenchRow[]; table: string }): void {
  const result = {
    at: new Date().toISOString(),
    machine: { cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30) },
    engine: process.env['DATABASE_URL'] === undefined ? 'embedded' : 'server',
    sizes: growth ? sizes : small ? 'small' : 'whole',
    failed,
    rows,
  }
  const file = join(FOLDER, `${name}.json`)
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
  console.log(`\n${table}\n\nThe same as JSON: ${file}`)
  if (failed.length === 0) return
  console.error(`Without a result: ${failed.join(', ')}.`)
  process.exitCode = 1
}
