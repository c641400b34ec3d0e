import { gzipSync } from 'node:zlib'

import { expect } from 'chai'
import { build } from 'esbuild'

describe('the client in a browser', () => {
  it('weighs 12 KB gzipped at most, and depends on nothing', async () => {
    const result = await build({
      entryPoints: ['src/client/index.ts'],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
      metafile: true,
    })
    const [file] = result.outputFiles
    expect(gzipSync(file?.contents ?? '').length).to.be.at.most(12 * 1024)
    const inputs = Object.keys(result.metafile.inputs)
    expect(inputs.filter((path) => !/^src\/(client|base|wire)\//.test(path))).to.deep.equal([])
  })
})
