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

  const called = (pattern: RegExp): string[] => {
    const found = pages.manifest.assets.filter((name) => pattern.test(name))
    expect(found).to.have.length(1)
    return found
  }

  it('is at most 120 KB gzipped, with its charts and its type', () => {
    const { script, style, parts } = pages.manifest.entries.console
    const rest = [...called(/^uPlot.*js$/), ...called(/woff2$/)]
    expect(zipped([script, style, ...parts, ...rest])).to.be.within(50_000, MOST_BYTES)
  })

  it('leaves for the first chart what draws it', () => {
    const { script, style, parts } = pages.manifest.entries.console
    expect(parts).not.to.include(called(/^uPlot.*js$/)[0])
    expect(zipped([script, style, ...parts])).to.be.within(30_000, 48_000)
  })

  it('leaves for later what an overview does not need', () => {
    const later = called(/^other-screens-/)
    expect(pages.manifest.entries.console.parts).not.to.include(later[0])
    expect(zipped(later)).to.be.within(5_000, 25_000)
  })
})
