import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { moveTransaction } from '../../src/store/transactions/transactions.ts'
import { describeInChromium, obstaclesOf } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { makeBatch } from '../fixtures/store/made-batch.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describeInChromium('batches in the console', (chromium) => {
  let opened: OpenConsole
  let page: Page
  let made: Awaited<ReturnType<typeof makeBatch>>

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    const { db, alice } = opened.admin
    made = await makeBatch(db, alice.id)
    await makeTransaction(db, { userId: alice.id, metadata: { order_id: '42' }, amount: 700n })
  })

  after(() => opened?.close())

  it('lists them, opens one, and shows at once what becomes of a payment', async () => {
    const { batchId, payments } = made
    await opened.show('batches')
    await page.getByRole('link', { name: batchId }).click()
    const [first] = payments
    await page.getByRole('link', { name: first!.transactionId }).waitFor()
    await page.getByText('2 payments, ').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await obstaclesOf(page)).to.deep.equal([])
    const { transactionId } = first!
    const cause = { transactionId, actor: 'test', reason: 'in a block' }
    await moveTransaction(opened.admin.db, { ...cause, from: 'pending', to: 'processing' })
    await page.getByText('1 payment, ').first().waitFor()
    await page.getByRole('link', { name: transactionId }).click()
    await page.getByRole('link', { name: batchId }).waitFor()
  })

  it('finds transactions by an amount, a word and an id, and opens the page of an id', async () => {
    const shows = async (count: string): Promise<void> => {
      await page.getByRole('button', { name: 'Apply' }).click()
      await page.getByRole('status').filter({ hasText: count }).waitFor()
    }
    await opened.show('transactions')
    await page.getByLabel('Currency').selectOption('USD')
    await page.getByLabel('At least').fill('7')
    await shows('1 transaction')
    await page.getByLabel('At least').fill('')
    await page.getByLabel('Metadata').fill('order_id=42')
    await shows('1 transaction')
    await page.goto(`${opened.url}/console#/transactions`)
    await page.getByRole('status').filter({ hasText: '3 transactions' }).waitFor()
    await page.getByLabel('Find').fill('invoice-1')
    await shows('1 transaction')
    await page.getByLabel('Find').fill(made.batchId)
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('heading', { name: made.batchId }).waitFor()
  })
})
