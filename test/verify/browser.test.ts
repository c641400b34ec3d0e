import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { build } from 'esbuild'

import { describeInChromium } from '../fixtures/console/browser.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const PROGRAM = `
  import { check } from './src/verify/check.ts'
  const { file, trust } = JSON.parse(document.querySelector('#input').textContent)
  const forged = file.replace('"index": 0', '"index": 1')
  const verdicts = await Promise.all([check(file, trust), check(forged, trust), check(file)])
  document.title = verdicts.map(({ status }) => status).join(' ')
`

describeInChromium('a quittance in a real browser', (chromium) => {
  const folder = temporaryFolder()
  after(() => folder.remove())

  it('holds, is refused when changed, and is open while its block is not trusted', async () => {
    const file = readFileSync('test/data/quittance.json', 'utf8')
    const { block } = JSON.parse(file) as { block: { hash: string } }
    const { outputFiles } = await build({
      stdin: { contents: PROGRAM, resolveDir: process.cwd(), loader: 'ts' },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    })
    const input = JSON.stringify({ file, trust: { trustedBlockHash: block.hash } })
    const page = join(folder.path, 'page.html')
    const script = outputFiles[0]?.text.replaceAll('</script', '<\\/script')
    const data = `<script type="application/json" id="input">${input}</script>`
    writeFileSync(page, `<title>none</title>${data}<script type="module">${script}</script>`)
    const dom = await show(chromium, { page, profile: join(folder.path, 'profile') })
    expect(/<title>(.*)<\/title>/.exec(dom)?.[1]).to.equal('holds disagrees pending')
  }).timeout(60_000)
})

/** The document after its script has run. */
async function show(
  chromium: string,
  { page, profile }: { page: string; profile: string },
): Promise<string> {
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic']
  flags.push('--no-first-run', '--disable-background-networking', '--disable-component-update')
  flags.push('--disable-sync', `--user-data-dir=${profile}`, '--virtual-time-budget=5000')
  const child = spawn(chromium, [...flags, '--dump-dom', `file://${page}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 50_000,
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await new Promise((closed) => child.once('close', closed))
  return text
}
