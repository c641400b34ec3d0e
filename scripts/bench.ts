/** Runs every part, one after the other, and puts what they found into one table and one file. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'

import { formatRows, type BenchRow } from '../test/support/bench-result.ts'

/** Each with its sizes for `--small`, which shows that it runs and measures little. */
const PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
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

const FOLDER = 'bench-results'

const isSmall = process.argv.includes('--small')
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const unknown = wanted.filter((part) => !(part in PARTS))
if (unknown.length > 0) {
  console.error(
    `There is no part ${unknown.join(', ')}. There are ${Object.keys(PARTS).join(', ')}.`,
  )
  process.exit(2)
}

mkdirSync(FOLDER, { recursive: true })
const rows: BenchRow[] = []
const failed: string[] = []
for (const [part, small] of Object.entries(PARTS)) {
  if (wanted.length > 0 && !wanted.includes(part)) continue
  console.log(`\n== ${part}`)
  const found = run(part, isSmall ? small : {})
  if (found === undefined) failed.push(part)
  else rows.push(...found)
}

const result = {
  at: new Date().toISOString(),
  machine: { cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30) },
  engine: process.env['DATABASE_URL'] === undefined ? 'embedded' : 'server',
  sizes: isSmall ? 'small' : 'whole',
  failed,
  rows,
}
const file = join(FOLDER, 'bench.json')
writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
console.log(`\n${formatRows(rows)}\n\nThe same as JSON: ${file}`)
if (failed.length > 0) {
  console.error(`Without a result: ${failed.join(', ')}.`)
  process.exitCode = 1
}

/** A part that fails leaves none of an earlier run behind. */
function run(part: string, sizes: Readonly<Record<string, string>>): BenchRow[] | undefined {
  const told = join(FOLDER, `${part}.json`)
  rmSync(told, { force: true })
  const env = { ...sizes, ...process.env, BENCH_RESULT: told }
  const { status } = spawnSync('npm', ['run', '--silent', `bench:${part}`], {
    env,
    stdio: 'inherit',
  })
  if (status !== 0 || !existsSync(told)) return undefined
  return JSON.parse(readFileSync(told, 'utf8')) as BenchRow[]
}
