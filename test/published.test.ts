import { readFileSync } from 'node:fs'

import { expect } from 'chai'

import { examplesOf } from './fixtures/published-examples.ts'
import { undocumentedExports } from './fixtures/published.ts'

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { default: string }>
}

describe('the published entries', () => {
  const entries = Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [{ name, file: sourceOf(target.default) }],
  )

  it('are those that the README names', () => {
    const readme = readFileSync('README.md', 'utf8')
    const named = [...readme.matchAll(/['`](quittance(?:\/\w+)*)['`]/g)].map(([, name]) => name)
    const published = entries.map(({ name }) => `quittance${name.slice(1)}`)
    expect([...new Set(named)]).to.have.members(published)
  })

  for (const { name, file } of entries) {
    it(`explain every export of ${name}`, () => {
      expect(undocumentedExports(file)).to.deep.equal([])
    })
  }

  it('show each function and each class in a program of its own', () => {
    const examples = entries.flatMap(({ file }) => examplesOf(file))
    expect(examples.length).to.be.greaterThan(20)
    expect(examples.filter(({ programs }) => programs.length === 0)).to.deep.equal([])
    for (const { name, programs } of examples) expect(programs.join(), name).to.include(name)
  })

  it('show each part that a program can add to the platform', () => {
    const shown = examplesOf('src/app/server.ts').map(({ name }) => name)
    expect(shown).to.include.members(['OwnParts', 'OwnBank', 'OwnGateway', 'OwnSigner', 'Screen'])
  })

  const planted: ReadonlyArray<[string, string]> = [
    ['a type', "export type { Bare } from './other.ts'"],
    ['a function under another name', "export { bare as Bare } from './other.ts'"],
    ['one of all that another module has', "export * from './one.ts'"],
    ['a module under a name', "export type * as Bare from './one.ts'"],
    ['a name of a package', "export type { Bare } from 'viem'"],
    ['a name that is not there', "export { Bare } from './none.ts'"],
    ['a comment without words', '/** */\nexport const Bare = 1'],
    ['a comment that is none of TSDoc', '// For nothing.\nexport const Bare = 1'],
  ]
  const files: Readonly<Record<string, string>> = {
    'src/other.ts': 'export type Bare = 1\nexport function bare(): void {}',
    'src/one.ts': '/** Of use. */\nexport const told = 1\nexport class Bare {}',
    'src/none.ts': '',
  }
  for (const [name, text] of planted) {
    it(`are not explained where ${name} is bare`, () => {
      const read = (path: string): string => (path === 'src/a.ts' ? text : (files[path] ?? ''))
      expect(undocumentedExports('src/a.ts', read)).to.deep.equal(['src/a.ts: Bare'])
    })
  }
})

/** The package has compiled files; what they are compiled from stands in src. */
function sourceOf(compiled: string): string {
  return compiled.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts')
}
