import type { Page } from 'playwright-core'

import { moveTransaction } from '../../src/store/transactions/transactions.ts'
import { describeInChromium, keepSession } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describeInChromium('a page of a platform that is slow', (chromium) => {
  let opened: OpenConsole
  let page: Page

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
  })
  after(() => opened?.close())

  it('asks who comes to sign in, however long other tabs take to answer', async () => {
    const context = await opened.browser.newContext()
    const stranger = await context.newPage()
    await stranger.clock.install({ time: 0 })
    await stranger.clock.pauseAt(1000)
    await stranger.goto(`${opened.url}/console`)
    await stranger.getByRole('button', { name: 'Sign in' }).waitFor({ timeout: 10_000 })
    await context.close()
  })

  it('asks for what it shows before it is painted', async () => {
    const context = await opened.browser.newContext()
    await keepSession(context, opened.admin.keys.admin)
    const operator = await context.newPage()
    await operator.clock.install({ time: 0 })
    await operator.clock.pauseAt(1000)
    const asked = operator.waitForRequest(/admin\/overview/, { timeout: 10_000 })
    await operator.goto(`${opened.url}/console`)
    await asked
    await context.close()
  })

  it('shows what happened before its stream of events began', async () => {
    const { db, alice } = opened.admin
    const made = await makeTransaction(db, { userId: alice.id, status: 'processing' })
    const { transactionId } = made
    const begun = Promise.withResolvers<void>()
    await page.route(/\/api\/stream/, async (route) => {
      await begun.promise
      await route.continue()
    })
    await opened.show(`transactions/${transactionId}`)
    await page.reload()
    await page.getByText('Processing', { exact: true }).first().waitFor()
    const why = { actor: 'gateway:card', reason: 'captured' }
    await moveTransaction(db, { transactionId, from: 'processing', to: 'completed', ...why })
    begun.resolve()
    await page.getByText('Completed', { exact: true }).first().waitFor({ timeout: 10_000 })
  })

  it('shows a list whose answer takes longer than the time between two looks at it', async () => {
    await opened.show('overview')
    await page.clock.install()
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    let turn = 0
    await page.route(/\/api\/admin\/wallets/, async (route) => {
      if (turn++ > 0) return
      asked.resolve()
      await answered.promise
      await route.continue()
    })
    await opened.show('wallets')
    await asked.promise
    await page.clock.runFor(30_000)
    answered.resolve()
    await page.getByText('In no wallet').waitFor({ timeout: 10_000 })
  })
})
