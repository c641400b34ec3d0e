import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import { loadPages } from '../../src/app/pages.ts'
import { startAdminApi, type AdminApi } from '../support/admin-api.ts'
import { findChromium, keepSession, startBrowser } from '../support/browser.ts'
import { insertManyTransactions } from '../support/many-transactions.ts'
import { walkThrough } from '../support/scroll.ts'

const chromium = findChromium()
/** `npm run bench:console` goes through a hundred thousand. */
const ROWS = 1250

describe('a long list in the console', () => {
  if (chromium === undefined) {
    it('is not tried here, where there is no Chromium: set CHROME_PATH to one', () => {
      expect(process.env['QUITTANCE_TESTS_NEED_CHROMIUM']).to.equal(undefined)
    })
    return
  }

  let admin: AdminApi
  let browser: Browser
  let page: Page
  let ids: string[]
  // The console follows the platform's events for as long as the platform lets it.
  const stopped = new AbortController()

  before(async () => {
    const { signal } = stopped
    ;[admin, browser] = await Promise.all([
      startAdminApi({ signal }, loadPages),
      startBrowser(chromium),
    ])
    ids = await insertManyTransactions(admin.db, { userId: admin.alice.id, count: ROWS })
    const url = await admin.api.server.listen({ host: '127.0.0.1', port: 0 })
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await keepSession(page, admin.keys.admin)
    await page.goto(`${url}/console#/transactions`)
    await page.getByRole('link', { name: ids[0]! }).waitFor()
  })

  after(async () => {
    await browser?.close()
    stopped.abort()
    await admin?.api.close()
  })

  it('shows each row once, in its place, and never more of them than can be seen', async () => {
    const few = Number(await page.evaluate("document.querySelectorAll('*').length"))
    const { ids: seen, changed, elements } = await walkThrough(page, { rows: ROWS })
    expect(seen).to.deep.equal(ids)
    expect(changed).to.equal(0)
    expect(elements).to.be.below(2 * few)
  })

  it('fills a tall window in the first frame that it is painted in', async () => {
    const tall = await browser.newPage({ viewport: { width: 1440, height: 3000 } })
    await keepSession(tall, admin.keys.admin)
    await tall.addInitScript(`
      const look = () => {
        const rows = document.querySelectorAll('.rows .body .row')
        if (rows.length === 0) return requestAnimationFrame(look)
        const end = document.querySelector('.rows').getBoundingClientRect().bottom
        globalThis.gap = end - [...rows].at(-1).getBoundingClientRect().bottom
      }
      look()`)
    await tall.goto(page.url())
    await tall.waitForFunction('globalThis.gap !== undefined')
    expect(await tall.evaluate('globalThis.gap')).to.be.at.most(0)
    await tall.close()
  })

  it('says that it loads more for as long as it does', async () => {
    const held = Promise.withResolvers<void>()
    await page.route(/[?&]cursor=/, async (route) => {
      await held.promise
      await route.continue()
    })
    await page.reload()
    await page.getByRole('link', { name: ids[0]! }).waitFor()
    const telling = page.locator('[role=status][aria-live=polite]', { hasText: 'Loading more' })
    await page.evaluate("document.querySelector('.rows').scrollTop = 1e6")
    await telling.waitFor()
    held.resolve()
    await telling.waitFor({ state: 'detached' })
  })
})
