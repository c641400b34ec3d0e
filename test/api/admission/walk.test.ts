import { existsSync, readFileSync } from 'node:fs'

import { expect } from 'chai'

describe('the way of a POST in docs/architecture.md', () => {
  const page = readFileSync('docs/architecture.md', 'utf8')
  const [section = ''] = /## From the socket to the commit\n[^]*?(?=\n## |$)/.exec(page) ?? []
  const files = section
    .split('\n')
    .filter((line) => /^\d+\. /.test(line))
    .flatMap((line) => [...line.matchAll(/`(src\/[\w/.-]+)`/g)].map(([, file = '']) => file))

  it('names files that there are, and each of them once', () => {
    expect(files).to.have.length.greaterThan(12)
    expect(files.filter((file) => !existsSync(file))).to.deep.equal([])
    expect(files).to.deep.equal([...new Set(files)])
  })

  it('goes through every file of admission but the one of types', () => {
    for (const file of ['admit', 'endpoints', 'checks', 'idempotently', 'together', 'commit']) {
      expect(files).to.include(`src/api/admission/${file}.ts`)
    }
  })
})
