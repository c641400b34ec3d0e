import type { Page, Route } from 'playwright-core'

/** What others may have written: long, in any direction, unseen, and in the form of markup. */
const TEXTS = [
  '<img src=x onerror="document.title=1"><script>document.title=2</script>'.repeat(20),
  'W'.repeat(10_000),
  'فاتورة رقم ١٢٣ '.repeat(600),
  `\u202etxet deppilf\u202c${'\u200b\u200d\u2066'.repeat(900)}end`,
  '😀'.repeat(3000),
]
const AMOUNT = '9999999999999.999999999999999999'

/** Fields that carry text of people or of other programs, and amounts. */
const FOREIGN =
  /^(username|name|description|note|reason|actor|error|url|last_answer|requested_by|shown)$/
const FREE_VALUES = /^(metadata|recorded|on_chain|evidence)$/
const AMOUNTS = /(amount_decimal|received_decimal|balance|held|supply|liability|drift)$/

/** Every answer of the platform arrives whole, but with the worst that may stand in its texts. */
export async function poison(page: Page): Promise<() => Promise<void>> {
  const answer = async (route: Route): Promise<void> => {
    const response = await route.fetch()
    const isJson = response.headers()['content-type']?.includes('json') === true
    if (!isJson) return route.fulfill({ response })
    return route.fulfill({ response, json: poisoned(await response.json(), '') })
  }
  // The stream of events has no end, so there is nothing to read it to.
  const where = (url: URL): boolean => url.pathname.startsWith('/api/') && !isStream(url)
  await page.route(where, answer)
  return () => page.unroute(where, answer)
}

function isStream(url: URL): boolean {
  return url.pathname === '/api/stream'
}

let turn = 0

function poisoned(value: unknown, field: string): unknown {
  if (typeof value === 'string') {
    if (AMOUNTS.test(field)) return AMOUNT
    return FOREIGN.test(field) ? TEXTS[turn++ % TEXTS.length] : value
  }
  if (Array.isArray(value)) return value.map((each) => poisoned(each, field))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      // Free fields: any name may stand in them, with any text.
      FREE_VALUES.test(field) ? TEXTS[turn++ % TEXTS.length] : poisoned(each, name),
    ]),
  )
}
