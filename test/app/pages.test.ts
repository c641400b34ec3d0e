import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { expect } from 'chai'

import type { PageFiles } from '../../src/api/pages/shells.ts'
import { loadPages } from '../../src/app/pages.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

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

  describe('of a clone', () => {
    const { path: folder, remove } = temporaryFolder()
    const file = join(folder, 'made', 'pages.json')

    beforeEach(async () => {
      await loadPages(file)
    })

    after(remove)

    type Kept = { sources: Record<string, string>; files: Record<string, string> }
    const change = (edit: (kept: Kept) => void): void => {
      const kept = JSON.parse(readFileSync(file, 'utf8')) as Kept
      edit(kept)
      writeFileSync(file, JSON.stringify(kept))
    }
    const isBuilt = async (): Promise<boolean> => {
      const { entries, assets } = await loadPages(file)
      const body = assets.get(entries.console.script)?.body
      expect(body).to.have.property('length').greaterThan(5)
      return Buffer.from(body ?? '').toString() !== 'from before'
    }
    const mark = (): void =>
      change(({ files }) => {
        files[pages.entries.console.script] = Buffer.from('from before').toString('base64')
      })

    it('are built once, and are the same at the next start', async () => {
      expect(await loadPages(file)).to.deep.equal(pages)
      mark()
      expect(await isBuilt()).to.equal(false)
    })

    it('are built anew when a source was written, or is gone', async () => {
      for (const name of ['src/console/theme.css', 'src/verify/checksum.ts', 'src/app/pages.ts']) {
        mark()
        change(({ sources }) => {
          const path = Object.keys(sources).find((it) => it.endsWith(name)) ?? ''
          expect(sources, name).to.have.property(path)
          sources[path] = '1 1'
        })
        expect(await isBuilt(), name).to.equal(true)
      }
      mark()
      change(({ sources }) => (sources[join(folder, 'gone.ts')] = '1 1'))
      expect(await isBuilt()).to.equal(true)
    })

    it('are built anew when what is kept cannot be read', async () => {
      writeFileSync(file, readFileSync(file, 'utf8').slice(0, 1000))
      expect(await isBuilt()).to.equal(true)
      mark()
      expect(await isBuilt()).to.equal(false)
    })

    it('are not kept when a source was written meanwhile', async () => {
      const [source, unkept] = ['src/console/theme.css', join(folder, 'unkept.json')]
      const { atime, mtime } = statSync(source)
      utimesSync(source, atime, new Date(Date.now() + 60_000))
      try {
        await loadPages(unkept)
      } finally {
        utimesSync(source, atime, mtime)
      }
      expect(existsSync(unkept)).to.equal(false)
    })

    it('are built where nothing can be kept', async () => {
      expect((await loadPages('/proc/none/pages.json')).entries).to.deep.equal(pages.entries)
    })
  })
})
