import type { Browser, Page } from 'playwright-core'

import { loadPages } from '../../src/app/pages.ts'
import { startAdminApi, type AdminApi } from './admin-api.ts'
import { keepSession, startBrowser } from './browser.ts'

/** The console in a browser, signed in, over nothing but the operations that it asks. */
export type OpenConsole = {
  admin: AdminApi
  browser: Browser
  page: Page
  url: string
  /** Goes to a screen by the part of the address after `#/`. */
  show: (screen: string) => Promise<void>
  close: () => Promise<void>
}

export async function openConsole(chromium: string): Promise<OpenConsole> {
  // The console follows the platform's events for as long as the platform lets it.
  const stopped = new AbortController()
  const [admin, browser] = await Promise.all([
    startAdminApi({ signal: stopped.signal }, loadPages),
    startBrowser(chromium),
  ])
  const url = await admin.api.server.listen({ host: '127.0.0.1', port: 0 })
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await keepSession(page, admin.keys.admin)
  return {
    admin,
    browser,
    page,
    url,
    show: async (screen) => void (await page.goto(`${url}/console#/${screen}`)),
    close: async () => {
      await browser.close()
      stopped.abort()
      await admin.api.close()
    },
  }
}
