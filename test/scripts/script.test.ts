import { spawnSync } from 'node:child_process'

import { expect } from 'chai'

/** The lightest of the scripts stands for all: they read what they take by the same few lines. */
describe('a script', () => {
  const bench = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('node', ['scripts/bench/all.ts', ...args], {
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }

  it('tells what it takes', () => {
    const { status, stdout } = bench('--help')
    expect(status).to.equal(0)
    expect(stdout).to.match(/^Usage: npm run bench -- \[options\] \[parts\.\.\.\]\n/)
    expect(stdout).to.include('--sizes <counts>')
  })

  const refused: [string, string[], RegExp][] = [
    ['an option that there is not', ['--grwoth'], /unknown option '--grwoth'/],
    ['a size that is none', ['--sizes', '1000,many'], /'--sizes <counts>'.* whole number/],
    ['a size of nothing', ['--sizes', '0'], /It must be 1 at least/],
    ['a part that there is not', ['lists'], /There is no part lists\. There are gas, start, /],
    ['a part that does not grow', ['gas', '--growth'], /There is no part gas\. There are list, /],
  ]
  for (const [what, args, sentence] of refused) {
    it(`refuses ${what} in a line, and says where help is`, () => {
      const { status, stdout, stderr } = bench(...args)
      expect([status, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.match(sentence)
      // Commander may add which option was meant.
      expect(stderr.trimEnd().split('\n')).to.have.length.at.most(3)
      expect(stderr).to.include('--help tells what there is.')
    })
  }
})
