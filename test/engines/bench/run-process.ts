/**
 * A process that does nothing but one run over our own records, and tells in lines of JSON what
 * each phase took and how much memory it holds. It is a process of its own so that its memory is
 * the run's alone, and so that it can be killed.
 */
import { readFileSync } from 'node:fs'

import { sql, type KyselyPlugin } from 'kysely'

import { systemClock } from '../../../src/base/clock.ts'
import type { Hex } from '../../../src/chain/hex.ts'
import type { HttpProvider } from '../../../src/chain/rpc/http-provider.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { createNode } from '../../../src/reconciler/chain/node.ts'
import { createExaminer, type Examiner } from '../../../src/reconciler/judge/examine.ts'
import { createRuns, STORE } from '../../../src/reconciler/runs.ts'
import { openDatabase } from '../../../src/store/database/database.ts'
import { latestRun } from '../../../src/store/reconciliation/runs.ts'
import { allBreaks, runsDeps } from '../../fixtures/books/runs.ts'
import { CHAIN_ID } from '../../fixtures/books/verify.ts'
import { createStopwatch } from './stopwatch.ts'

const { DATABASE_URL: url, RUN_DATA: folder, RUN_NODE: node = '' } = process.env
const settlement = process.env['RUN_SETTLEMENT'] as Hex
const chunkRecords = numberOf('RUN_CHUNK')
const stopAt = numberOf('RUN_STOP_AT')

const stopwatch = createStopwatch()
const database = await openDatabase({ url, folder })
const timed: KyselyPlugin = {
  transformQuery({ node }) {
    stopwatch.begin('sql')
    return node
  },
  async transformResult({ result }) {
    stopwatch.end('sql')
    return result
  },
}
const db = database.db.withPlugin(timed)
const clock = systemClock
const made = createProviders({ urls: [node], chainId: CHAIN_ID, clock, random: Math.random })
const providers = made.all.map(watched)
const nodes = providers.map((provider) => createNode({ provider, confirmations: 2, clock }))
const contracts = { settlement, tokens: new Map() }
const plain = createExaminer({ chainId: CHAIN_ID, nodes, contracts, clock })
let chunks = 0
const examiner: Examiner = {
  ...plain,
  async examine(records, signal) {
    chunks += 1
    if (chunkRecords !== undefined) {
      tell({ examined: records.map(({ transactionId }) => transactionId) })
    }
    // Whoever asked for it kills the process here.
    if (chunks === stopAt) await new Promise(() => setInterval(() => undefined, 1000))
    return plain.examine(records, signal)
  },
}
const own = { settlement, nodes, providers, examiner }
const { chunkRecords: _, ...rest } = runsDeps({ db, urls: [node], ...own })
const deps = { ...rest, ...(chunkRecords !== undefined && { chunkRecords }) }

let phase = ''
/** One look after the other, so that none is told after the end. */
let looks = Promise.resolve()
if (chunkRecords !== undefined) {
  // The lease of one that was killed has run out.
  await sql`update runs set leased_until = '-infinity'`.execute(database.db)
  tell({ found: await latestRun(database.db, { chainId: CHAIN_ID, source: STORE }) })
}
stopwatch.take()
const startedAt = performance.now()
const watching = setInterval(() => void (looks = looks.then(tellPhase)), 200)
await createRuns(deps).pass(new AbortController().signal)
clearInterval(watching)
await looks
await tellPhase()
const run = await latestRun(database.db, { chainId: CHAIN_ID, source: STORE })
tell({
  state: run?.state,
  error: run?.error,
  totals: run?.totals,
  seconds: (performance.now() - startedAt) / 1000,
  ...(chunkRecords !== undefined && { open: await openKinds() }),
})
await database.close()

/** Each phase by itself, as near as the time between two looks. */
async function tellPhase(): Promise<void> {
  const latest = await latestRun(database.db, { chainId: CHAIN_ID, source: STORE })
  const now = latest?.state === 'running' ? latest.phase : 'end'
  if (now !== phase) {
    tell({ phase, waited: stopwatch.take() })
    phase = now
  }
  tell({ at: (performance.now() - startedAt) / 1000, phase, memoryMb: memoryMb() })
}

function watched(provider: HttpProvider): HttpProvider {
  const during = async <T>(work: Promise<T>): Promise<T> => {
    stopwatch.begin('chain')
    try {
      return await work
    } finally {
      stopwatch.end('chain')
    }
  }
  return {
    ...provider,
    request: (call) => during(provider.request(call)),
    batch: (items, signal) => during(provider.batch(items, signal)),
  }
}

/** What it holds now, and the most that it has held, as Linux tells. */
function memoryMb(): { now: number; peak: number } {
  const status = readFileSync('/proc/self/status', 'utf8')
  const megabytes = (name: string): number => {
    const [, kilobytes = '0'] = new RegExp(`${name}:\\s+(\\d+)`).exec(status) ?? []
    return Math.round(Number(kilobytes) / 1024)
  }
  return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
}

async function openKinds(): Promise<string[]> {
  const found = await allBreaks(database.db, 'open')
  return found.map(({ kind, transactionId }) => `${transactionId} ${kind}`)
}

function numberOf(name: string): number | undefined {
  const text = process.env[name]
  return text === undefined ? undefined : Number(text)
}

function tell(line: object): void {
  const text = JSON.stringify(line, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  process.stdout.write(`${text}\n`)
}
