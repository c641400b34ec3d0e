/** Breaks of every kind among good records: which of them are found, and what else is. */
import { messageOf } from '../../src/base/errors.ts'
import { timed } from '../../test/engines/bench/receipt-loops.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { scoreFile, type Scored } from '../../test/engines/injected/file.ts'
import { scoreOwnRecords } from '../../test/engines/injected/own-records.ts'
import type { KindScore } from '../../test/engines/injected/score.ts'
import { removeFiles } from '../../test/fixtures/books/reconcile.ts'
import { dropOwnDatabases } from '../../test/fixtures/store/database.ts'

const SIZE = {
  good: Number(process.env['BENCH_GOOD'] ?? 100_000),
  ofEach: Number(process.env['BENCH_BREAKS'] ?? 100),
}

async function main(): Promise<void> {
  try {
    const parts = [
      await tell('a file, through two nodes', () => scoreFile(SIZE)),
      await tell('our own records', () => scoreOwnRecords(SIZE)),
    ]
    const scores = parts.flatMap((part) => part.scores)
    const sumOf = (what: 'injected' | 'found' | 'false') =>
      scores.reduce((sum, score) => sum + score[what], 0)
    const [injected, found, wrong] = [sumOf('injected'), sumOf('found'), sumOf('false')]
    const unmatched = parts.reduce((sum, { good, matched }) => sum + good - matched, 0)
    tellRows('breaks', [
      { what: 'breaks found with their kind', unit: `of ${injected}`, ours: found },
      { what: 'breaks found that are none', unit: `of ${SIZE.good} good`, ours: wrong },
    ])
    if (found < injected || wrong + unmatched > 0) process.exitCode = 1
  } finally {
    removeFiles()
    await dropOwnDatabases()
  }
}

async function tell(what: string, score: () => Promise<Scored>): Promise<Scored> {
  const { value, seconds } = await timed(score)
  console.log(
    `${what}: ${value.matched} of ${value.good} good ones matched, ${seconds.toFixed(0)} s`,
  )
  for (const one of value.scores) console.log(lineOf(one))
  return value
}

function lineOf({ kind, injected, found, false: wrong }: KindScore): string {
  return `  ${kind.padEnd(22)} injected ${injected}, found ${found}, false ${wrong}`
}

await main().catch((error: unknown) => {
  console.error(messageOf(error))
  process.exitCode = 2
})
