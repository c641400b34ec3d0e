import { gzipSync } from 'node:zlib'

import { expect } from 'chai'
import { build } from 'esbuild'

/** What a browser loads to check a quittance, or to verify a hash. */
async function bundle(entry: string): Promise<{ gzipped: number; inputs: string[] }> {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    metafile: true,
  })
  const [file] = result.outputFiles
  return {
    gzipped: gzipSync(file?.contents ?? '').length,
    inputs: Object.keys(result.metafile.inputs),
  }
}

describe('the checker in a browser', () => {
  it('weighs less than 60 KB gzipped, and has no server code in it', async () => {
    for (const entry of ['src/verify/check.ts', 'src/verify/index.ts']) {
      const { gzipped, inputs } = await bundle(entry)
      expect(gzipped, entry).to.be.lessThan(60 * 1024)
      const own = inputs.filter((path) => path.startsWith('src/'))
      const isPure = (path: string) => /^src\/(verify|chain|base|bindings|domain)\//.test(path)
      expect(own.every(isPure)).to.equal(true)
      expect(inputs.some((path) => path.includes('node:'))).to.equal(false)
    }
  })
})
