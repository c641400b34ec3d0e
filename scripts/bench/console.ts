/** How soon the console can be used, and whether a list of any length scrolls without a gap. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Browser } from 'playwright-core'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { insertUser } from '../../src/store/access/users.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { timeOnce } from '../../test/engines/bench/page-times.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { runInChromium, keepSession, startBrowser } from '../../test/fixtures/console/browser.ts'
import { walkThrough } from '../../test/fixtures/console/scroll.ts'
import { runProgram } from '../../test/fixtures/program.ts'
import { insertManyTransactions } from '../../test/fixtures/store/many-transactions.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 100_000)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 9)
/** A tall window sees more of the list in each frame, so the way through it is shorter. */
const WINDOW = { width: 1440, height: 3000 }

async function main(executablePath: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
  const data = join(folder, 'data')
  mkdirSync(data)
  const ids = await fill(join(data, 'database'))
  const program = runProgram(['up'], { QUITTANCE_DATA: data, PORT: '0' })
  const browser = await startBrowser(executablePath)
  try {
    const facts = await program.untilReady()
    const times = await timeOpening(browser, facts)
    const found = await scroll(browser, { facts, ids })
    console.log({ load: loadavg().map((load) => Math.round(load * 10) / 10), ...times, ...found })
    tell(times, found)
    const wrongs = found.missing + found.doubled + found.outOfPlace + found.blankFrames
    if (wrongs > 0) process.exitCode = 1
  } finally {
    await browser.close()
    program.kill('SIGTERM')
    await program.ended
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(folder: string): Promise<string[]> {
  const { db, close } = await openDatabase({ folder })
  await migrate(db)
  const person = { username: 'bench', passwordHash: '$argon2id$none', scopes: [] }
  const { id: userId } = await insertUser(db, person)
  const ids = await insertManyTransactions(db, { userId, count: ROWS })
  await close()
  return ids
}

type Times = { doorMs: Spread; overviewMs: Spread; docsMs: Spread; bareMs: Spread }
type Spread = { p50: number; most: number }

/** From the navigation, with nothing cached, until a person could press the first button. */
async function timeOpening(browser: Browser, facts: ReadyFacts): Promise<Times> {
  const token = facts.admin?.apiKey ?? ''
  const door = { url: facts.console ?? '', until: 'main.door button[type=submit]' }
  const overview = { url: facts.console ?? '', until: 'main .verdict', token }
  const docs = { url: `${facts.url}/docs`, until: 'main .operation' }
  const bare = { url: `${facts.url}/healthz`, until: 'body' }
  const times: number[][] = [[], [], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, page] of [door, overview, docs, bare].entries()) {
      times[at]?.push(await timeOnce(browser, page))
    }
  }
  // The first of all also has the programs of the pages made, which a package carries ready.
  const [doorMs, overviewMs, docsMs, bareMs] = times.map((each) => spreadOf(each.slice(1)))
  return { doorMs: doorMs!, overviewMs: overviewMs!, docsMs: docsMs!, bareMs: bareMs! }
}

function spreadOf(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b)
  const [p50 = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
  return { p50: Math.round(p50), most: Math.round(most) }
}

type Found = {
  rows: number
  missing: number
  doubled: number
  outOfPlace: number
  frames: number
  blankFrames: number
  seconds: number
  elements: number
  heapMb: number
}

/** Goes through all of it, and holds what stood in sight against what was put in. */
async function scroll(
  browser: Browser,
  { facts, ids }: { facts: ReadyFacts; ids: readonly string[] },
): Promise<Found> {
  const page = await browser.newPage({ viewport: WINDOW })
  await keepSession(page, facts.admin?.apiKey ?? '')
  await page.goto(`${facts.console}#/transactions`)
  await page.getByRole('link', { name: ids[0]! }).waitFor()
  const walk = await walkThrough(page, { rows: ids.length })
  const heap = await page.evaluate<number>('performance.memory.usedJSHeapSize')
  const seen = walk.ids.filter((id) => id !== null)
  const distinct = new Set(seen)
  return {
    rows: ids.length,
    missing: ids.filter((id) => !distinct.has(id)).length,
    doubled: seen.length - distinct.size,
    outOfPlace: walk.changed + ids.filter((id, place) => walk.ids[place] !== id).length,
    frames: walk.frames,
    blankFrames: walk.blankFrames,
    seconds: Math.round(walk.ms / 100) / 10,
    elements: walk.elements,
    heapMb: Math.round(heap / 2 ** 20),
  }
}

function tell({ doorMs, overviewMs, docsMs, bareMs }: Times, found: Found): void {
  const floor = { what: 'a page of one line', value: bareMs.p50 }
  const wrong = found.missing + found.doubled + found.outOfPlace
  const list = `of ${found.rows} transactions`
  tellRows('console', [
    { what: 'until one can sign in, uncached, p50', unit: 'ms', ours: doorMs.p50, floor },
    { what: 'until the overview says its verdict, p50', unit: 'ms', ours: overviewMs.p50, floor },
    { what: 'until /docs shows its operations, p50', unit: 'ms', ours: docsMs.p50, floor },
    { what: `${list}, missing, doubled or out of place`, unit: 'rows', ours: wrong },
    { what: `${list}, most elements in the document`, unit: 'elements', ours: found.elements },
  ])
}

await runInChromium(main)
