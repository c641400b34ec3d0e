import { existsSync } from 'node:fs'

import axe from 'axe-core'
import { expect } from 'chai'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Undefined where this machine has no Chromium; CHROME_PATH names one elsewhere. */
export function findChromium(): string | undefined {
  return [process.env['CHROME_PATH'], ...PLACES].find((path) => path && existsSync(path))
}

/** A suite for a browser. Where a run must have one, and there is none, that is a failure. */
export function describeInChromium(title: string, suite: (executablePath: string) => void) {
  return describe(title, () => {
    const executablePath = findChromium()
    if (executablePath !== undefined) {
      suite(executablePath)
      return
    }
    it('is not tried here, where there is no Chromium: set CHROME_PATH to one', () => {
      expect(process.env['QUITTANCE_TESTS_NEED_CHROMIUM']).to.equal(undefined)
    })
  })
}

/** A browser that asks nobody but the pages that it is sent to. */
export function startBrowser(executablePath: string): Promise<Browser> {
  const quiet = ['background-networking', 'component-update', 'gpu', 'quic', 'sync']
  const args = ['--no-sandbox', '--no-first-run', ...quiet.map((name) => `--disable-${name}`)]
  return chromium.launch({ executablePath, args })
}

/** What somebody who cannot see or point would trip over, by rule and place. */
export async function obstaclesOf(page: Page): Promise<string[]> {
  // By the debugger, since the page's policy lets in no script of others.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source)
  const found = await page.evaluate<axe.AxeResults>("axe.run({ resultTypes: ['violations'] })")
  if (found.passes.length === 0) throw new Error('no rule was tried')
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
}

/** How many sheets of A4 the page takes. */
export async function pagesInPrint(page: Page): Promise<number> {
  const margin = { top: '1cm', bottom: '1cm', left: '1cm', right: '1cm' }
  const paper = await page.pdf({ format: 'A4', margin })
  return [...paper.toString('latin1').matchAll(/\/Type\s*\/Page\b/g)].length
}

/** Opens the console as somebody who has signed in before. */
export async function keepSession(page: Page | BrowserContext, token: string): Promise<void> {
  const session = JSON.stringify(JSON.stringify({ token, username: 'operator' }))
  await page.addInitScript(`sessionStorage.setItem('quittance.session', ${session})`)
}
