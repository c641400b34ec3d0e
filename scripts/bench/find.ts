/** How soon an operator sees a list, a day of it, and what a search finds, in a browser. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Browser, Page } from 'playwright-core'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { insertUser } from '../../src/store/access/users.ts'
import { MIGRATION_PATIENCE } from '../../src/store/database/connections.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { timeOnce, timeUntilShown } from '../../test/engines/bench/page-times.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { at } from '../../test/engines/bench/rounds.ts'
import { runInChromium, keepSession, startBrowser } from '../../test/fixtures/console/browser.ts'
import { runProgram } from '../../test/fixtures/program.ts'
import { insertManyTransactions } from '../../test/fixtures/store/many-transactions.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 1_000_000)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 20)
/** An old row that has a hash. */
const WANTED = Math.max(1, Math.floor(ROWS / 7000)) * 1000
const FIRST_DAY = '2025-01-01'
const NAME = `row ${WANTED} of many`

/** What is typed for the row, and for its user. */
const SEARCHES: Readonly<Record<string, [typed: string, shown: string]>> = {
  'its hash': [`0x${WANTED.toString(16).padStart(64, '0')}`, NAME],
  'its address': [`0x${WANTED.toString(16).padStart(40, '0')}`, NAME],
  'its id': [`tx${String(WANTED).padStart(20, '0')}`, NAME],
  'its external id': [`order-${WANTED}`, NAME],
  'words of its description': [`row ${WANTED}`, NAME],
  'its amount': [`${WANTED}.25`, NAME],
  'a word of all descriptions': ['many', 'of many'],
  'the beginning of a name': ['benc', 'bench'],
}

async function main(executablePath: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
  const url = await fill(data)
  const env = url === undefined ? {} : { DATABASE_URL: url }
  const program = runProgram(['up'], { QUITTANCE_DATA: data, PORT: '0', ...env })
  const browser = await startBrowser(executablePath)
  try {
    const facts = await program.untilReady()
    tellRows('find', await measure(browser, facts))
  } finally {
    await browser.close()
    program.kill('SIGTERM')
    await program.ended
    rmSync(data, { recursive: true, force: true })
  }
}

/** In the database that the program will find: its own, or an empty one of a server. */
async function fill(data: string): Promise<string | undefined> {
  const url = process.env['DATABASE_URL']
  const place = url === undefined ? { folder: join(data, 'database') } : { url }
  const database = await openDatabase({ ...place, patience: MIGRATION_PATIENCE })
  const { db } = database
  await migrate(db)
  const person = { username: 'bench', passwordHash: '$argon2id$none', scopes: [] }
  const { id: userId } = await insertUser(db, person)
  await insertManyTransactions(db, { userId, count: ROWS, from: FIRST_DAY })
  await database.close()
  return url
}

async function measure(browser: Browser, facts: ReadyFacts) {
  const token = facts.admin?.apiKey ?? ''
  const url = `${facts.console}#/transactions`
  const opened = await times(() => timeOnce(browser, { url, until: '.rows .body a', token }))
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await keepSession(page, token)
  await page.goto(url)
  await page.locator('.rows .body a').first().waitFor()
  const jumped = await times((round) => jump(page, round))
  const rows = [
    rowOf(`the list of ${ROWS} opens, uncached`, opened),
    rowOf('it shows a day that is chosen', jumped),
  ]
  await page.keyboard.press('/')
  await page.locator('dialog [role=combobox]').waitFor()
  for (const [what, [typed, shown]] of Object.entries(SEARCHES)) {
    const found = await times(() => search(page, typed, shown))
    rows.push(rowOf(`from the last key to the first result, by ${what}`, found))
  }
  return rows
}

function rowOf(what: string, times: number[]) {
  const [p50, most] = [at(times, 0.5), Math.max(...times).toFixed(1)]
  console.log(`${what.padEnd(74)} ${p50} ms, at most ${most} ms`)
  return { what: `${what}, p50`, unit: 'ms', ours: Number(p50) }
}

/** Each measured, without the first, which has everything still to load. */
async function times(measureOnce: (round: number) => Promise<number>): Promise<number[]> {
  const all: number[] = []
  for (let round = 0; round <= ROUNDS; round++) all.push(await measureOnce(round))
  return all.slice(1)
}

/** To a day that is another one each time. */
function jump(page: Page, round: number): Promise<number> {
  const dayMs = 86_400_000
  const days = Math.max(1, Math.floor(ROWS / 86_400))
  const day = new Date(Date.parse(FIRST_DAY) + (round % days) * dayMs).toISOString().slice(0, 10)
  const deed = `
    document.querySelector('[name=end_date]').value = '${day}'
    document.querySelector('form[role=search]').requestSubmit()`
  return timeUntilShown(page, { deed, element: '.rows .body time', text: day })
}

async function search(page: Page, text: string, shown: string): Promise<number> {
  await page.evaluate(`(() => { ${typing('')} })()`)
  await page.locator('dialog [role=option]').first().waitFor({ state: 'detached' })
  return timeUntilShown(page, { deed: typing(text), element: 'dialog [role=option]', text: shown })
}

function typing(text: string): string {
  return `
    const field = document.querySelector('dialog [role=combobox]')
    field.value = ${JSON.stringify(text)}
    field.dispatchEvent(new Event('input', { bubbles: true }))`
}

await runInChromium(main)
