import type { Page } from 'playwright-core'

import { moveTransaction } from '../../src/store/transactions/transactions.ts'
import { describeInChromium } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describeInChromium('a page whose stream of events begins late', (chromium) => {
  let opened: OpenConsole
  let page: Page

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
  })
  after(() => opened?.close())

  it('shows what happened before it began', async () => {
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
})
