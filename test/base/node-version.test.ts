import { readFileSync } from 'node:fs'

import { expect } from 'chai'

import { whyTooOld } from '../../src/base/node-version.ts'

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  engines: { node: string }
}
const needed = engines.node.replace('>=', '')

describe('the Node that is needed', () => {
  it('is the one that package.json, the README and the page about the library name', () => {
    expect(whyTooOld('20.20.1')).to.equal(
      `Quittance needs Node ${needed} or later, and this is Node 20.20.1.`,
    )
    for (const page of ['README.md', 'docs/library.md']) {
      expect(readFileSync(page, 'utf8')).to.include(`Node ${needed} or later, and browsers`)
    }
  })

  it('is enough, and what is newer too', () => {
    for (const version of [`${needed}.0`, '22.22.0', '24.0.0']) {
      expect(whyTooOld(version), version).to.equal(undefined)
    }
  })

  it('is not met by what is older', () => {
    for (const version of ['18.20.0', '20.20.1', '22.17.9']) {
      expect(whyTooOld(version), version).to.be.a('string')
    }
  })

  const entries = [
    'app/reconcile',
    'app/server',
    'bindings/ethers',
    'bindings/index',
    'checked/index',
    'client/index',
    'verify/index',
  ]
  for (const entry of [...entries, 'cli/main']) {
    it(`is asked for before anything else by ${entry}`, () => {
      const text = readFileSync(`src/${entry}.ts`, 'utf8')
      const [, first] = /(?:from |^import )'([^']+)'/m.exec(text) ?? []
      expect(first).to.match(/\/require-node\.ts$/)
    })
  }
})
