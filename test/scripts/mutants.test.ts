import { readFileSync } from 'node:fs'

import { expect } from 'chai'
import { transform } from 'esbuild'

import { failuresIn } from '../engines/mutants/failures.ts'
import { listedIn } from '../engines/mutants/listing.ts'
import { fileOf, mutated, nameOf, readMutants } from '../engines/mutants/mutant.ts'

describe('the mutants', () => {
  it('find the code that they change once, and leave code behind', async () => {
    for (const mutant of await readMutants()) {
      for (const [file, text] of await mutated(mutant)) {
        if (file.endsWith('.ts')) await transform(text, { loader: 'ts' })
      }
    }
  })

  it('have names of their own, and something that is to see them', async () => {
    const mutants = await readMutants()
    expect(new Set(mutants.map(nameOf)).size).to.equal(mutants.length)
    const guards = mutants.filter(({ file }) => file.endsWith('.ts'))
    expect(guards).to.have.length.at.least(120)
    for (const mutant of guards) {
      const { tests = [], sim } = mutant
      expect(tests.length > 0 || sim !== undefined, nameOf(mutant)).to.equal(true)
      for (const test of tests) expect(isThere(test), test).to.equal(true)
    }
  })

  it('have a line each in docs/mutants.md, which `npm run mutate -- --list` writes', async () => {
    const names = (await readMutants()).map(nameOf)
    expect(listedIn(readFileSync('docs/mutants.md', 'utf8'))).to.have.members(names)
  })

  it('are not green where no test was run, as after the one that saw them was renamed', () => {
    expect(failuresIn('{"passed":0,"failures":[]}', '.')).to.equal(undefined)
    expect(failuresIn('{"passed":1,"failures":[]}', '.')).to.deep.equal([])
  })

  it('name the pair that dies where a second guard stands behind the first', async () => {
    const mutants = await readMutants()
    for (const { file, equivalent, pair } of mutants) {
      if (equivalent === undefined || file.endsWith('.sol')) continue
      const both = mutants.find(({ what }) => what === pair)
      expect(both?.equivalent, pair).to.equal(undefined)
      expect(both?.changes, pair).to.have.length.at.least(2)
    }
  })
})

function isThere(test: string): boolean {
  const file = fileOf(test)
  return readFileSync(file, 'utf8').includes(test.slice(file.length + 2))
}
