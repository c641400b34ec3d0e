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
    page.on('request', (request) => asked.push(request.url()))
  })

  after(() => opened?.close())

  const decided = (name: string) =>
    page.getByRole('listitem').filter({ hasText: `Decided by hand, by ${name}` })

  it('are those of users whom a history has as a number, asked for once', async () => {
    await opened.show(`transactions/${id}`)
    await decided('operator').nth(1).waitFor()
    expect(asked.filter((url) => url.includes('/api/admin/users?'))).to.have.length(1)
  })

  it('are a number where nobody has it', async () => {
    await page.route(/admin\/users/, (route) => route.abort())
    await page.reload()
    await decided('user 1').nth(1).waitFor()
  })
})
