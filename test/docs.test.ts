import { existsSync, readdirSync, readFileSync } from 'node:fs'

import { expect } from 'chai'

const PAGES = readdirSync('docs').map((name) => `docs/${name}`)

describe('the pages in docs', () => {
  for (const page of PAGES) {
    it(`name only files that there are: ${page}`, () => {
      const text = readFileSync(page, 'utf8')
      const paths = [...text.matchAll(/`((?:src|test|contracts)\/[\w/.-]*)`/g)].map(
        ([, path]) => path,
      )
      expect(paths).not.to.have.length(0)
      expect(paths.filter((path) => !existsSync(path ?? ''))).to.deep.equal([])
    })
  }

  it('name a test for each safety rule, by its sentence', () => {
    const rules = readFileSync('docs/safety.md', 'utf8').split(/^## /m).slice(1)
    expect(rules.map((rule) => Number.parseInt(rule, 10))).to.deep.equal([
      1, 2, 3, 4, 5, 6, 7, 8, 9,
    ])
    for (const rule of rules) {
      const [tests = ''] = /Tests?: .*/.exec(rule) ?? []
      const sentences = [...tests.matchAll(/"([^"]{20,})"|'([^']{20,})'/g)]
      const files = [...tests.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, file = '']) => file)
      const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
      expect(files, rule).not.to.have.length(0)
      for (const [, double, single] of sentences) expect(text).to.include(double ?? single)
    }
  })

  it('list the words of the glossary once each, in order', () => {
    const rows = readFileSync('docs/glossary.md', 'utf8').split('\n').slice(6)
    const words = rows.filter(Boolean).map((row) => (row.split('|')[1] ?? '').trim().toLowerCase())
    expect(words).to.deep.equal([...new Set(words)].toSorted((a, b) => (a < b ? -1 : 1)))
  })
})
