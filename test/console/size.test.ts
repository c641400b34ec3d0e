import { gzipSync } from 'node:zlib'

import { expect } from 'chai'

import { buildPages, type BuiltPages } from '../../src/app/pages.ts'

const MOST_BYTES = 120 * 1024

describe('the first load of the console', () => {
  let pages: BuiltPages

  before(async () => {
    pages = await buildPages()
  })

  const zipped = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + gzipSync(pages.files.get(name) ?? '').length, 0)

  it('is at most 120 KB gzipped, with its charts and its type', () => {
    const { script, style, parts } = pages.manifest.entries.console
    const type = pages.manifest.assets.filter((name) => name.endsWith('.woff2'))
    expect(type).to.have.length(1)
    expect(zipped([script, style, ...parts, ...type])).to.be.within(50_000, MOST_BYTES)
  })

  it('leaves for later what an overview does not need', () => {
    const later = pages.manifest.assets.filter((name) => name.startsWith('other-screens-'))
    expect(later).to.have.length(1)
    expect(pages.manifest.entries.console.parts).not.to.include(later[0])
    expect(zipped(later)).to.be.within(5_000, 25_000)
  })
})
