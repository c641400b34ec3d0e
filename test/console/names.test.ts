import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { moveTransaction } from '../../src/store/transactions/transactions.ts'
import { describeInChromium } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describeInChromium('the names in the console', (chromium) => {
  let opened: OpenConsole
  let page: Page
  let id: string
  const asked: string[] = []

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    const { db, alice, admin } = opened.admin
    ;({ transactionId: id } = await makeTransaction(db, { userId: alice.id }))
    const cause = { transactionId: id, actor: `user:${admin.id}`, reason: 'decided by hand' }
    await moveTransaction(db, { ...cause, from: 'pending', to: 'processing' })
    await moveTransaction(db, { ...cause, from: 'processing', to: 'failed' })
    // What a busy server has done nothing with is asked for again.
    page.on('response', (answer) => answer.ok() && asked.push(answer.url()))
  })

  after(() => opened?.close())

  const decided = (name: string) =>
    page.getByRole('listitem').filter({ hasText: `Decided by hand, by ${name}` })

  it('are those of users whom a history has as a number, asked for once', async () => {
    await opened.show(`transactions/${id}`)
    await decided('operator').nth(1).waitFor()
    expect(asked.filter((url) => url.includes('/api/admin/users?'))).to.have.length(1)
  })

  it('are what a new key is asked for', async () => {
    await opened.show('keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.locator('datalist option').nth(1).waitFor({ state: 'attached' })
    const offered = await page.evaluate(
      "[...document.querySelectorAll('datalist option')].map(({ value }) => value)",
    )
    expect(offered).to.have.members(['operator', 'alice'])
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('User').fill('nobody-at-all')
    await dialog.getByLabel('Name').fill('laptop')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.getByText('Nobody is called nobody-at-all.').waitFor()
    await dialog.getByLabel('User').fill('ALICE')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('row').filter({ hasText: 'alice' }).nth(1).waitFor()
    await opened.show(`transactions/${id}`)
  })

  it('are a number where nobody has it', async () => {
    await page.route(/admin\/users/, (route) => route.abort())
    await page.reload()
    await decided('user 1').nth(1).waitFor()
  })
})
