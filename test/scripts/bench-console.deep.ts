import { expect } from 'chai'

import { describeInChromium } from '../fixtures/console/browser.ts'
import { runScript } from '../fixtures/program.ts'

describeInChromium('the bench of the console', (chromium) => {
  it('waits for what its pages show, and not forever', async () => {
    const sizes = { BENCH_ROWS: '500', BENCH_ROUNDS: '2' }
    const program = runScript('bench:console', { ...sizes, CHROME_PATH: chromium })
    expect(await program.ended, program.output().stderr).to.equal(0)
    expect(program.output().stdout).to.match(/docsMs: \{ p50: [1-9]/)
  })
})
