import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { formatGrowth, formatRows, tellRows, type BenchRow } from '../engines/bench/result.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

describe('the table of the benchmarks', () => {
  const peer = { what: 'theirs', value: 1234.5 }
  const row = { what: 'a thing', unit: 'ms', ours: 12.345, peer, floor: { what: 'none', value: 1 } }
  const rows: BenchRow[] = [
    { part: 'list', ...row },
    { part: 'gas', what: 'another', unit: 'gas', ours: 39_199 },
  ]

  it('sets each figure beside its peer and floor, in columns', () => {
    expect(formatRows(rows).split('\n')).to.deep.equal([
      'part  what     ours        peer           floor',
      'list  a thing  12.3 ms     1,235, theirs  1, none',
      'gas   another  39,199 gas',
    ])
  })

  it('sets the sizes side by side where it tells how the figures grow', () => {
    const grown = [1000, 10].flatMap((size) => rows.map((one) => ({ ...one, size })))
    expect(formatGrowth(grown.slice(0, -1)).split('\n')).to.deep.equal([
      'part  what     unit  10            1,000         (peer)',
      'list  a thing  ms    12.3 (1,235)  12.3 (1,235)  theirs',
      'gas   another  gas                 39,199',
    ])
  })

  it('is made of what each part leaves in its file', () => {
    const folder = temporaryFolder()
    const file = join(folder.path, 'list.json')
    const before = process.env['BENCH_RESULT']
    process.env['BENCH_RESULT'] = file
    tellRows('list', [row])
    if (before === undefined) delete process.env['BENCH_RESULT']
    else process.env['BENCH_RESULT'] = before
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.deep.equal(rows.slice(0, 1))
    folder.remove()
  })

  it('has a script for each part that the documentation explains, and no other', () => {
    const page = readFileSync('docs/benchmarks.md', 'utf8')
    const listed = [...page.matchAll(/^\| `([a-z]+)` \|/gm)].map(([, part]) => `bench:${part}`)
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }
    expect(listed).to.have.members(Object.keys(scripts).filter((name) => name.startsWith('bench:')))
  })
})
