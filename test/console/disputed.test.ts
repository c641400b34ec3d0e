import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { closeBreak } from '../../src/store/reconciliation/breaks.ts'
import { makeBreak } from '../fixtures/books/runs.ts'
import { describeInChromium } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { poison } from '../fixtures/hostile.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describeInChromium('a disputed transaction in the console', (chromium) => {
  let opened: OpenConsole
  let page: Page
  let disputed: string
  let settled: string
  let breakId: string

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    const { db, alice } = opened.admin
    const make = async () =>
      (await makeTransaction(db, { userId: alice.id, status: 'completed' })).transactionId
    disputed = await make()
    settled = await make()
    breakId = await makeBreak(db, { transactionId: disputed })
  })
  after(() => opened?.close())

  const row = (id: string) => page.locator('.rows .body .row').filter({ hasText: id })
  const banner = () => page.getByRole('alert').filter({ hasText: 'Disputed' })
  const showOne = async (id: string) => {
    await opened.show(`transactions/${id}`)
    await page.getByRole('heading', { name: id }).waitFor()
  }

  it('has a mark in the list, beside its status, which others have not', async () => {
    await opened.show('transactions')
    await row(disputed).getByText('Disputed', { exact: true }).waitFor()
    expect(await row(disputed).getByText('Completed', { exact: true }).count()).to.equal(1)
    expect(await row(settled).getByText('Disputed').count()).to.equal(0)
  })

  it('has a banner on its page, which leads to the break', async () => {
    await showOne(disputed)
    await banner().waitFor()
    const link = banner().getByRole('link', { name: 'Break: missing' })
    expect(await link.getAttribute('href')).to.equal(`#/breaks/${breakId}`)
    await showOne(settled)
    expect(await banner().count()).to.equal(0)
  })

  it('shows a hostile reason as text', async () => {
    const clean = await poison(page)
    await page.reload()
    await opened.show(`transactions/${disputed}`)
    await banner().waitFor()
    expect(await page.locator('img, main script').count()).to.equal(0)
    expect(await page.title()).not.to.match(/^[12]$/)
    await clean()
  })

  it('loses both when the break is closed', async () => {
    const closing = { breakId, as: 'resolved', actor: 'test', note: undefined } as const
    await closeBreak(opened.admin.db, { ...closing, now: new Date() })
    await showOne(settled)
    await page.reload()
    await showOne(disputed)
    expect(await banner().count()).to.equal(0)
  })
})
