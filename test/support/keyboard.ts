import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import type { ReadyFacts } from '../../src/base/ready.ts'

/** Signs in, opens the transaction, makes its receipt and verifies it, all by Tab and Enter. */
export async function workByKeys(
  browser: Browser,
  { console: door, admin }: ReadyFacts,
  id: string,
): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(20_000)
  const press = async (name: string): Promise<void> => {
    const focus = await tabTo(page, name)
    expect(focus.outline, name).not.to.equal('none')
    await page.keyboard.press('Enter')
  }
  await page.goto(door ?? '')
  await page.getByLabel('Username').waitFor()
  await tabTo(page, 'Username')
  await page.keyboard.type(admin?.username ?? '')
  await tabTo(page, 'Password')
  await page.keyboard.type(admin?.password ?? '')
  await press('Sign in')
  await page.getByText('The books and the chain agree.').waitFor()
  await press('Transactions')
  await page.getByRole('link', { name: id }).waitFor()
  await press(id)
  await page.getByText('Final on chain').waitFor()
  await press('Make a receipt')
  await page.getByRole('link', { name: 'the receipt' }).waitFor()
  await press('the receipt')
  await page.waitForURL(/\/r\//)
  await press('Verify')
  await page.getByText('It holds.').waitFor()
  await page.close()
}

/** Presses Tab until what is called so has the focus, and tells how that is drawn. */
async function tabTo(page: Page, name: string): Promise<{ outline: string }> {
  for (let steps = 0; steps < 80; steps++) {
    await page.keyboard.press('Tab')
    const focus = await page.evaluate<{ name: string; outline: string }>(`(() => {
      const at = document.activeElement
      const label = at?.labels?.[0] ?? at
      return { name: label?.textContent?.trim(), outline: getComputedStyle(at).outlineStyle }
    })()`)
    if (focus.name === name) return focus
  }
  throw new Error(`Tab does not lead to ${name}`)
}
