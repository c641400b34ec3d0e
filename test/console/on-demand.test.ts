import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { insertSample } from '../../src/store/transactions/overview.ts'
import { describeInChromium, obstaclesOf } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'

const OTHERS = /\/console\/assets\/other-screens-/

describeInChromium('the parts of the console that come on demand', (chromium) => {
  let opened: OpenConsole
  let page: Page
  const asked: string[] = []

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    page.on('request', (request) => asked.push(request.url()))
  })

  after(() => opened?.close())

  const title = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

  it('are not asked for by a first look', async () => {
    await opened.show('')
    await title('Overview')
    await opened.show('transactions')
    await title('Transactions')
    expect(asked.filter((url) => OTHERS.test(url))).to.deep.equal([])
  })

  it('say so where the platform does not send them, and come with the page', async () => {
    await page.route(OTHERS, (route) => route.abort())
    await opened.show('keys')
    await page.getByText('did not send this screen').waitFor()
    expect(await obstaclesOf(page)).to.deep.equal([])
    await page.unroute(OTHERS)
    await page.getByRole('button', { name: 'Load the page again' }).click()
    await title('API keys')
  })

  it('show charts in words where the platform does not send what draws it', async () => {
    await insertSample(opened.admin.db, {
      chainId: 31_337,
      at: opened.admin.clock.now(),
      claimedWei: 1n,
      settledWei: 1n,
      inFlight: 0,
      oldestSeconds: 0,
      providersWell: 1,
      openBreaks: 0,
    })
    await page.route(/\/assets\/uPlot/, (route) => route.abort())
    await opened.show('')
    await page.reload()
    // Once, however many charts there are.
    await page.getByText('did not send the program that draws').waitFor()
    await page.locator('.chart .key', { hasText: 'claimed' }).waitFor()
    expect(await obstaclesOf(page)).to.deep.equal([])
    await page.unroute(/\/assets\/uPlot/)
    await page.getByRole('button', { name: 'Load the page again' }).click()
    await page.locator('.chart canvas').first().waitFor()
  })

  it('are asked for once', async () => {
    await opened.show('keys')
    await title('API keys')
    asked.length = 0
    await opened.show('users')
    await title('Users')
    expect(asked.filter((url) => OTHERS.test(url))).to.deep.equal([])
  })
})
