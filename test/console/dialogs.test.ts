import { expect } from 'chai'
import type { Page } from 'playwright-core'

import { SCOPES } from '../../src/domain/access.ts'
import { describeInChromium } from '../fixtures/console/browser.ts'
import { openConsole, type OpenConsole } from '../fixtures/console/console.ts'

describeInChromium('what must not be missed in the console', (chromium) => {
  let opened: OpenConsole
  let page: Page
  let scopes: string[]

  before(async () => {
    opened = await openConsole(chromium)
    page = opened.page
    await opened.show('keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByLabel('User').fill('alice')
    await page.getByLabel('Name').fill('a key that is shown once')
    scopes = await page.evaluate(
      "[...document.querySelectorAll('input[name=scope]')].map(({ value }) => value)",
    )
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await keptNow().waitFor()
  })

  after(() => opened?.close())

  const keptNow = () => page.getByRole('dialog', { name: 'Keep this key now' })
  const clipboard = (value: string) =>
    page.evaluate(`Object.defineProperty(navigator, 'clipboard', {
      configurable: true, value: ${value} })`)

  it('offers every scope that there is', () => {
    expect(scopes).to.deep.equal(SCOPES)
  })

  it('stays where somebody presses Escape, once and again', async () => {
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.evaluate('new Promise(requestAnimationFrame)')
    expect(await keptNow().isVisible()).to.equal(true)
  })

  it('opens again where the browser closes it all the same', async () => {
    await page.evaluate("document.querySelector('dialog').close()")
    await keptNow().waitFor()
  })

  it('says that the clipboard took it, by name and aloud', async () => {
    await clipboard('{ writeText: async (text) => { globalThis.copied = text } }')
    await page.getByRole('button', { name: 'Copy the key' }).click()
    await page.getByRole('button', { name: 'Copied the key' }).waitFor()
    await keptNow().getByRole('status').getByText('Copied').waitFor()
    const key = await page.locator('.secret').textContent()
    expect(await page.evaluate('globalThis.copied')).to.equal(key)
  })

  it('says that there is no clipboard, and what to do', async () => {
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    await clipboard('undefined')
    await page.getByRole('button', { name: /the key/ }).click()
    await keptNow()
      .getByRole('status')
      .getByText(/by hand/)
      .waitFor()
    expect(complaints).to.deep.equal([])
  })

  it('goes when it is told to', async () => {
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await keptNow().waitFor({ state: 'detached' })
  })
})
