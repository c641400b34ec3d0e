import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { insertCharge } from '../../src/store/rails/charges.ts'
import { describeInChromium, keepSession, resize, tooWideOf } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'
import { insertManyTransactions } from '../fixtures/store/many-transactions.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'
import { until } from '../fixtures/until.ts'

/** What a test asks of an element. */
type Box = {
  scrollWidth: number
  clientWidth: number
  getBoundingClientRect: () => { left: number }
}

/** All of them are in sight of a window of this height. */
const ROWS = 15

describeInChromium('lists in the console', (chromium) => {
  let opened: OpenConsole
  let page: Page
  let ids: string[]

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    const { db, alice } = opened.admin
    ids = await insertManyTransactions(db, { userId: alice.id, count: ROWS })
    await showAll()
  })

  after(() => opened?.close())

  const shownIds = () => page.locator('.rows .body .row a').allTextContents()
  const showAll = async (): Promise<void> => {
    await opened.show('elsewhere')
    await page.getByText('This page does not exist').waitFor()
    await opened.show('transactions')
    await page.getByRole('link', { name: ids.at(-1)! }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  }

  it('shows what passes a filter, and no row from before it', async () => {
    await showAll()
    await page.getByLabel('Status').selectOption('failed')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: /^1 transaction$/ })
      .waitFor()
    expect(await shownIds()).to.deep.equal([ids.at(-1)])
  })

  it('turns the order by keys, which stands in the address, and goes back', async () => {
    await showAll()
    const head = page.getByRole('columnheader', { name: 'Created' })
    expect(await head.getAttribute('aria-sort')).to.equal('descending')
    await page.getByRole('link', { name: 'Created' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/#\/transactions\?sort=oldest$/)
    await page.locator('[aria-sort=ascending]').waitFor()
    expect(await shownIds()).to.deep.equal(ids.toReversed())
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Created ↑')
    // A filter keeps the order, and one that is a search has none to turn.
    await page.getByLabel('Status').selectOption('completed')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.waitForURL(/status=completed&sort=oldest/)
    await page.getByLabel('Currency').selectOption('USD')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.locator('[aria-sort]').waitFor({ state: 'detached' })
    await page.goBack()
    await page.goBack()
    await page.locator('[aria-sort=ascending]').waitFor()
    await page.goBack()
    await page.locator('[aria-sort=descending]').waitFor()
    expect(await shownIds()).to.deep.equal(ids)
  })

  it('sorts the amounts of one currency by keys, and says so in the address', async () => {
    await showAll()
    const amount = page.getByRole('columnheader', { name: 'Amount' })
    expect(await amount.getAttribute('title')).to.match(/choose a currency/)
    await page.getByLabel('Currency').selectOption('USD')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('link', { name: 'Amount' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/#\/transactions\?currency=USD&sort=largest$/)
    await page.locator('[aria-sort=descending][data-column=Amount]').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/sort=smallest$/)
    await page.locator('[aria-sort=ascending][data-column=Amount]').waitFor()
    expect(await shownIds()).to.deep.equal(ids.toReversed())
    await page.getByRole('link', { name: 'Created' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/#\/transactions\?currency=USD$/)
    await page.locator('[aria-sort=descending][data-column=Created]').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Amount ')
    expect(await shownIds()).to.deep.equal(ids)
  })

  it('keeps the focus where a filter was applied, and goes back to the one before', async () => {
    await showAll()
    const user = page.getByLabel('User')
    const focused = () => page.evaluate('document.activeElement.textContent')
    await user.fill('9999')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('No transactions match these filters').waitFor()
    expect(await focused()).to.equal('Apply')
    await user.fill('8888')
    await page.goBack()
    await page.getByRole('link', { name: ids.at(-1)! }).waitFor()
    expect(await user.inputValue()).to.equal('')
    await page.goForward()
    await page.getByText('No transactions match these filters').waitFor()
    expect(await user.inputValue()).to.equal('9999')
  })

  it('shows each row once after "Show 1 new transaction", the new one first', async () => {
    await showAll()
    const { db, alice } = opened.admin
    const { transactionId } = await makeTransaction(db, { userId: alice.id })
    // Whatever is on the way, the list stays: somebody is reading it.
    const held = Promise.withResolvers<void>()
    await page.route(/admin\/transactions/, async (route) => {
      await held.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Show 1 new transaction' }).click()
    await page.getByText('Loading more …').waitFor()
    expect(await shownIds()).to.deep.equal(ids)
    held.resolve()
    await page.getByRole('link', { name: transactionId }).waitFor()
    expect(await shownIds()).to.deep.equal([transactionId, ...ids])
    await page
      .getByRole('status')
      .filter({ hasText: `${ROWS + 1} transactions` })
      .waitFor()
  })

  it('counts the row of names among the rows, as each row does', async () => {
    await showAll()
    const table = page.getByRole('table')
    const last = page.locator('.rows .body .row').last()
    const count = await table.getAttribute('aria-rowcount')
    expect(count).to.equal(await last.getAttribute('aria-rowindex'))
  })

  const LISTS = [
    {
      screen: 'breaks',
      param: 'cursor',
      next: 'next_cursor',
      more: 'Older',
      filter: 'state=closed',
    },
    {
      screen: 'deliveries',
      param: 'after',
      next: 'next_after',
      more: 'Older',
      filter: 'status=failed',
    },
    { screen: 'wallets', param: 'after', next: 'next_after', more: 'Next', filter: 'user_id=1' },
  ] as const
  for (const { screen, param, next, more, filter } of LISTS) {
    it(`begins ${screen} anew with another filter, and does not go on in the middle`, async () => {
      const asked: URLSearchParams[] = []
      await page.route(new RegExp(`/api/(admin/)?${screen}\\b`), (route) => {
        asked.push(new URL(route.request().url()).searchParams)
        const json = {
          success: true,
          [screen]: [],
          total: 0,
          platform: [],
          [next]: 'the second page',
        }
        return route.fulfill({ json })
      })
      await opened.show(screen)
      await page.getByRole('button', { name: more }).click()
      await page.getByRole('button', { name: /Newest|First/ }).waitFor()
      await until(async () => asked.some((query) => query.has(param)))
      await page.evaluate(`location.hash = '#/${screen}?${filter}'`)
      await page.getByRole('button', { name: /Newest|First/ }).waitFor({ state: 'detached' })
      const filtered = () => asked.filter((query) => query.toString().includes(filter))
      await until(async () => filtered().length > 0)
      await page.unrouteAll({ behavior: 'wait' })
      expect(filtered().some((query) => query.has(param))).to.equal(false)
    })
  }

  it('shows an amount of 18 decimals whole, in its place on a narrow screen', async () => {
    const { db, alice } = opened.admin
    const amount = { amount: 12_345_678_901_234_567_890n, currency: 'ETH' } as const
    await makeTransaction(db, { userId: alice.id, ...amount })
    await opened.show('transactions?currency=ETH')
    const cell = page.getByRole('cell').filter({ hasText: '12.34567890123456789 ETH' })
    await cell.waitFor()
    const over = () => cell.evaluate((one: Box) => one.scrollWidth - one.clientWidth)
    expect(await over()).to.be.at.most(0)
    await resize(page, { width: 360, height: 780 })
    const left = (column: string) =>
      page
        .locator(`.rows .body [data-column=${column}] > :first-child`)
        .evaluate((one: Box) => Math.round(one.getBoundingClientRect().left))
    expect(await left('Amount')).to.equal(await left('Transaction'))
    expect(await over()).to.be.at.most(0)
    await resize(page, { width: 1440, height: 900 })
  })

  it('stays within a narrow window while it connects, and cut off', async () => {
    const narrow = await opened.browser.newPage({ viewport: { width: 360, height: 780 } })
    await keepSession(narrow, opened.admin.keys.admin)
    let refuse = (): void => undefined
    const refused = new Promise<void>((resolve) => (refuse = resolve))
    await narrow.route('**/api/stream*', async (route) => {
      await refused
      await route.abort()
    })
    await narrow.goto(`${opened.url}/console#/transactions`)
    await narrow.getByText('Connecting …').waitFor()
    expect(await tooWideOf(narrow)).to.deep.equal([])
    refuse()
    await narrow.getByText(/^Connection lost/).waitFor()
    expect(await tooWideOf(narrow)).to.deep.equal([])
    await narrow.close()
  })

  it('offers each way to send on a narrow screen, and shows one step of it at a time', async () => {
    await resize(page, { width: 360, height: 780 })
    await opened.show('send?what=mint')
    const review = page.getByRole('button', { name: 'Review' })
    await review.waitFor()
    for (const name of ['A payment', 'A batch from a CSV file']) {
      expect(await page.getByRole('link', { name }).isVisible(), name).to.equal(true)
    }
    await page.getByLabel('To address').fill(`0x${'1'.repeat(40)}`)
    await page.getByLabel('Amount in USD').fill('1.5')
    await review.click()
    await page.getByRole('button', { name: 'Change it' }).waitFor()
    expect(await review.isVisible()).to.equal(false)
    await resize(page, { width: 1440, height: 900 })
  })

  it('shows few filters on a narrow screen, and all when asked or when one is set', async () => {
    await resize(page, { width: 360, height: 780 })
    await showAll()
    const bound = page.getByLabel('At least')
    expect(await bound.isVisible()).to.equal(false)
    await page.getByRole('button', { name: 'More filters' }).click()
    await bound.waitFor()
    await opened.show('elsewhere')
    await page.getByText('This page does not exist').waitFor()
    await opened.show('transactions?currency=USD&min_amount=1')
    await bound.waitFor()
    expect(await page.getByRole('button', { name: 'More filters' }).count()).to.equal(0)
    await resize(page, { width: 1440, height: 900 })
  })

  it('keeps the longest name of a break within the narrowest window of columns', async () => {
    const seen = new Date().toISOString()
    const one = {
      id: '1',
      kind: 'provider_disagreement',
      state: 'open',
      meaning: 'The providers contradict each other.',
      at_risk_decimal: null,
      at_risk_currency: null,
      transaction_id: ids.at(-1),
      eth_transaction_hash: `0x${'ab'.repeat(32)}`,
      first_seen_at: seen,
      last_seen_at: seen,
    }
    const json = { success: true, breaks: [one], total: 1, next_cursor: null }
    await page.route(/\/api\/breaks\b/, (route) => route.fulfill({ json }))
    const { width, height } = page.viewportSize()!
    await resize(page, { width: 1000, height })
    await opened.show('breaks')
    await page.getByRole('link', { name: 'Provider disagreement' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0)
    const lines = "document.querySelector('tbody th a').getClientRects().length"
    expect(await page.evaluate(lines)).to.equal(1)
    await resize(page, { width, height })
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('leads to a payment to decide, however many older ones wait', async () => {
    const { db, alice } = opened.admin
    const made = []
    for (let count = 0; count < 2; count++) {
      const { transactionId } = await makeTransaction(db, {
        userId: alice.id,
        status: 'processing',
      })
      await insertCharge(db, { transactionId, gatewayId: 2, kind: 'crypto_checkout' })
      made.push(transactionId)
    }
    // The platform gives a hundred at most; here it gives one.
    await page.route(/admin\/payments\?/, (route) => {
      const url = route
        .request()
        .url()
        .replace(/limit=\d+/, 'limit=1')
      return route.continue({ url })
    })
    await opened.show(`payments/${made[1]}`)
    await page.getByRole('button', { name: 'Decide' }).waitFor()
    await page.getByRole('heading', { name: made[1]! }).waitFor()
  })

  it('shows the beginning of a long text of somebody else, in its own direction', async () => {
    const { db, alice } = opened.admin
    const { transactionId } = await makeTransaction(db, {
      userId: alice.id,
      description: 'שלום '.repeat(100),
    })
    await showAll()
    const row = page.locator('.rows .body .row').filter({ hasText: transactionId })
    const cell = row.locator('[data-column=Description]')
    expect((await cell.textContent())?.length).to.equal(301)
    const direction = `getComputedStyle([...document.querySelectorAll('[data-column=Description]')]
      .find((one) => one.textContent.startsWith('שלום'))).direction`
    expect(await page.evaluate(direction)).to.equal('rtl')
  })
})
