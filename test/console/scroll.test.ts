import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { describeInChromium, keepSession } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { walkThrough } from '../fixtures/console/scroll.ts'
import { insertManyTransactions } from '../fixtures/store/many-transactions.ts'
import { until } from '../fixtures/until.ts'

/** `npm run bench:console` goes through a hundred thousand. */
const ROWS = 1250

describeInChromium('a long list in the console', (chromium) => {
  let opened: OpenConsole
  let page: Page
  let ids: string[]

  before(async () => {
    opened = await openConsole(chromium)
    const { admin } = opened
    ids = await insertManyTransactions(admin.db, { userId: admin.alice.id, count: ROWS })
    page = opened.page
    await opened.show('transactions')
    await page.getByRole('link', { name: ids[0]! }).waitFor()
  })

  after(() => opened?.close())

  it('shows each row once, in its place, and never more of them than can be seen', async () => {
    const few = Number(await page.evaluate("document.querySelectorAll('*').length"))
    const { ids: seen, changed, elements } = await walkThrough(page, { rows: ROWS })
    expect(seen).to.deep.equal(ids)
    expect(changed).to.equal(0)
    expect(elements).to.be.below(2 * few)
  })

  it('fills a tall window in the first frame that it is painted in', async () => {
    const tall = await opened.browser.newPage({ viewport: { width: 1440, height: 3000 } })
    await keepSession(tall, opened.admin.keys.admin)
    // Awaited there: waiting from outside evaluates at each frame, which our policy forbids.
    await tall.addInitScript(`
      globalThis.gap = new Promise((resolve) => {
        const look = () => {
          const rows = document.querySelectorAll('.rows .body .row')
          if (rows.length === 0) return requestAnimationFrame(look)
          const end = document.querySelector('.rows').getBoundingClientRect().bottom
          resolve(end - [...rows].at(-1).getBoundingClientRect().bottom)
        }
        look()
      })`)
    await tall.goto(page.url())
    expect(await tall.evaluate('globalThis.gap')).to.be.at.most(0)
    await tall.close()
  })

  it('is loaded two windows ahead, before what is in sight is painted', async () => {
    const context = await opened.browser.newContext({ viewport: { width: 1440, height: 4000 } })
    await keepSession(context, opened.admin.keys.admin)
    const tall = await context.newPage()
    // With the clock of a page its frames stop for its scripts, and so does what follows a paint.
    await tall.clock.install({ time: 0 })
    await tall.clock.pauseAt(1000)
    await tall.goto(page.url())
    const windows = `(() => {
      const region = document.querySelector('.rows')
      return region?.querySelector('.body').clientHeight / region?.clientHeight
    })()`
    await until(async () => Number(await tall.evaluate(windows)) >= 3)
    await context.close()
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
