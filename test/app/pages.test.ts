import { gzipSync } from 'node:zlib'

import { expect } from 'chai'

import type { PageFiles } from '../../src/api/pages/shells.ts'
import { loadPages } from '../../src/app/pages.ts'

const KB = 1024

describe('the programs of the pages', () => {
  let pages: PageFiles

  before(async () => {
    pages = await loadPages()
  })

  const zipped = (name: string): number => gzipSync(pages.assets.get(name)?.body ?? '').length

  it('weigh at most 100 KB, gzipped', () => {
    for (const { script, style } of Object.values(pages.entries)) {
      expect(zipped(script)).to.be.within(KB / 4, 100 * KB)
      expect(zipped(style)).to.be.within(1 * KB, 20 * KB)
    }
  })

  it('make no markup from text', () => {
    for (const { script } of Object.values(pages.entries)) {
      const text = Buffer.from(pages.assets.get(script)?.body ?? '').toString()
      expect(text).not.to.match(/insertAdjacentHTML|document\.write|\beval\(|new Function/)
    }
  })
})
