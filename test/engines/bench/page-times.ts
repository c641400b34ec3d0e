import type { Browser, Page } from 'playwright-core'

import { keepSession } from '../../fixtures/console/browser.ts'

/** From the navigation, with nothing cached, until what is wanted can be used, in milliseconds. */
export async function timeOnce(
  browser: Browser,
  wanted: { url: string; until: string; token?: string },
): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  if (wanted.token !== undefined) await keepSession(context, wanted.token)
  // A task of its own after the frame runs only when the page is free to take an input.
  await context.addInitScript(`
    const look = () => document.querySelector(${JSON.stringify(wanted.until)})
      ? setTimeout(() => performance.mark('usable'))
      : requestAnimationFrame(look)
    look()`)
  const page = await context.newPage()
  await page.goto(wanted.url)
  const missing = JSON.stringify(`${wanted.url} shows no ${wanted.until}.`)
  const ms = await page.evaluate<number>(`(async () => {
    const marks = () => performance.getEntriesByName('usable')
    while (marks().length === 0) {
      if (performance.now() > 60_000) throw new Error(${missing})
      await new Promise(requestAnimationFrame)
    }
    return marks()[0].startTime
  })()`)
  await context.close()
  return ms
}

/** From a deed in the page until it shows the text in an element, in milliseconds. */
export function timeUntilShown(
  page: Page,
  { deed, element, text }: { deed: string; element: string; text: string },
): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const startedAt = performance.now()
    ${deed}
    const shows = ({ textContent }) => textContent.includes(${JSON.stringify(text)})
    while (![...document.querySelectorAll(${JSON.stringify(element)})].some(shows)) {
      if (performance.now() - startedAt > 20_000) throw new Error('It is not shown.')
      await new Promise(requestAnimationFrame)
    }
    return performance.now() - startedAt
  })()`)
}
