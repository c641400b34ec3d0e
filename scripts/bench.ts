/** Runs every part, one after the other, and puts what they found into one table and one file. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { formatGrowth, formatRows, type BenchRow } from '../test/support/bench-result.ts'

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
}

/** The parts that `--growth` runs at several sizes, and what sets each one's size. */
const GROWING: Settings = {
  list: 'BENCH_ROWS',
  reconcile: 'BENCH_SETTLEMENTS',
  runs: 'BENCH_SETTLEMENTS',
}

const FOLDER = 'bench-results'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    small: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '10000,100000,1000000' },
  },
})

const sizes = values.sizes.split(',').map(Number)
if (!sizes.every((size) => Number.isSafeInteger(size) && size > 0)) {
  console.error(`--sizes takes whole numbers, such as 1000,10000, and not ${values.sizes}.`)
  process.exit(2)
}
const known = Object.keys(values.growth ? GROWING : PARTS)
const unknown = positionals.filter((part) => !known.includes(part))
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. There are ${known.join(', ')}.`)
  process.exit(2)
}
const parts = known.filter((part) => positionals.length === 0 || positionals.includes(part))
const failed: string[] = []

mkdirSync(FOLDER, { recursive: true })
if (values.growth) {
  const rows = parts.flatMap((part) =>
    sizes.flatMap((size) =>
      run(part, { [GROWING[part]!]: String(size) }).map((row) => ({ ...row, size })),
    ),
  )
  tell('growth', { rows, table: formatGrowth(rows) })
} else {
  const rows = parts.flatMap((part) => run(part, values.small ? PARTS[part]! : {}))
  tell('bench', { rows, table: formatRows(rows) })
}

/** A part that fails leaves none of an earlier run behind. */
function run(part: string, settings: Settings): BenchRow[] {
  const told = join(FOLDER, `${part}.json`)
  rmSync(told, { force: true })
  const title = [part, ...Object.values(values.growth ? settings : {})].join(' ')
  console.log(`\n== ${title}`)
  const { status } = spawnSync('npm', ['run', '--silent', `bench:${part}`], {
    env: { ...settings, ...process.env, ...(values.growth && settings), BENCH_RESULT: told },
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
    sizes: values.growth ? sizes : values.small ? 'small' : 'whole',
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
