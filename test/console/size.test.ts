import { gzipSync } from 'node:zlib'

import { expect } from 'chai'

import { buildPages } from '../../src/app/pages.ts'

const MOST_BYTES = 120 * 1024

describe('the first load of the console', () => {
  it('is at most 120 KB gzipped, with its charts and its type', async () => {
    const { files, manifest } = await buildPages()
    const { script, style } = manifest.entries.console
    const names = [script, style, ...manifest.assets.filter((name) => name.endsWith('.woff2'))]
    expect(names).to.have.length(3)
    const sizes = names.map((name) => gzipSync(files.get(name) ?? '').length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.within(50_000, MOST_BYTES)
  })
})
