/** One run over our own records, beside those who ask for one receipt after the other. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Hex } from 'viem'

import { systemClock } from '../../src/base/clock.ts'
import { messageOf } from '../../src/base/errors.ts'
import { toQuantity } from '../../src/chain/answers.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { requestRun } from '../../src/reconciler/runs.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import {
  measureReceiptLoops,
  readRawLogs,
  type Loop,
} from '../../test/engines/bench/receipt-loops.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { measureReading } from '../../test/engines/bench/sweep-bench.ts'
import { CHAIN_ID } from '../../test/fixtures/books/verify.ts'
import { recordSettlements } from '../../test/fixtures/chain/recorded-settlements.ts'
import {
  confirm,
  fillSettlements,
  startSettledChain,
  type SettledChain,
} from '../../test/fixtures/chain/settled-chain.ts'
import { runFile } from '../../test/fixtures/program.ts'
import { dropOwnDatabases, emptyDatabaseUrl } from '../../test/fixtures/store/database.ts'

const SETTLEMENTS = Number(process.env['BENCH_SETTLEMENTS'] ?? 100_000)
/** The node of the benchmark takes longer for each receipt of a block, the more the block has. */
const PER_BLOCK = Number(process.env['BENCH_PER_BLOCK'] ?? 50)
/** The loops are measured over so many hashes, and counted up to all. */
const PEER = Math.min(SETTLEMENTS, Number(process.env['BENCH_PEER'] ?? 2_000))
/** The ranges of the floor are as large as the sweep's. */
const LOGS_AT_ONCE = 5_000

type Place = { url: string | undefined; folder: string }

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
  const place: Place = { url: await emptyDatabaseUrl(), folder: join(folder, 'database') }
  const started = await startSettledChain()
  try {
    const filling = { count: SETTLEMENTS, perBlock: PER_BLOCK, onFilled: tellEvery('settled') }
    const world = await fillSettlements(started, filling)
    await confirm(world, 5)
    await prepare(place, world)
    const run = await performRun(world, place)
    const step = Math.max(1, Math.floor(LOGS_AT_ONCE / PER_BLOCK))
    const readRaw = () => readRawLogs(world, { ...world, step })
    const loops = await measureReceiptLoops(world.chain.url, await sampleHashes(world))
    const sweep = await measureReading(world, readRaw)
    if (sweep.logs !== SETTLEMENTS) throw new Error(`${sweep.logs} of all settlements were read`)
    tellAll({ run, loops, sweep })
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await started.chain.stop()
    await dropOwnDatabases()
  }
}

/** The database is closed again, since an embedded one belongs to one process. */
async function prepare(place: Place, world: SettledChain): Promise<void> {
  const database = await openDatabase(place.url === undefined ? place : { url: place.url })
  const { db } = database
  await migrate(db)
  await recordSettlements(db, world, tellEvery('recorded'))
  // What came over months was tended meanwhile.
  await sql`vacuum (analyze)`.execute(db)
  const asking = { db, clock: systemClock, randomBytes }
  await requestRun(asking, { chainId: CHAIN_ID, requestedBy: 'bench' })
  await database.close()
}

type Line = {
  phase?: string
  waited?: Record<string, number>
  memoryMb?: { now: number; peak: number }
  state?: string
  totals?: { records: number; matched: number; breaks: number }
  seconds?: number
}

/** The run in a process of its own, which tells what it waits for and what it holds. */
async function performRun(world: SettledChain, place: Place) {
  const program = runFile('test/engines/bench/run-process.ts', [], {
    DATABASE_URL: place.url,
    RUN_DATA: place.folder,
    RUN_NODE: world.chain.url,
    RUN_SETTLEMENT: world.settlement,
  })
  const code = await program.ended
  const { stdout, stderr } = program.output()
  if (code !== 0) throw new Error(stderr)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const end = lines.at(-1)
  if (end?.totals?.matched !== SETTLEMENTS)
    throw new Error(`not all matched: ${stdout.slice(-500)}`)
  const memory = lines.flatMap(({ memoryMb }) => memoryMb ?? [])
  const phases = lines.filter(({ waited }) => waited !== undefined)
  const waitedFor = (party: string) =>
    phases
      .flatMap(({ waited }) => Object.entries(waited ?? {}))
      .filter(([parties]) => parties.split('+').includes(party))
      .reduce((sum, [, seconds]) => sum + seconds, 0)
  return {
    seconds: end.seconds ?? Number.NaN,
    chainSeconds: waitedFor('chain'),
    sqlSeconds: waitedFor('sql'),
    phases,
    // After a tenth of the time, half of it, and in all.
    memoryMb: [0.1, 0.5, 1].map((part) => memory[Math.ceil(memory.length * part) - 1]?.peak),
  }
}

/** Of blocks all over the chain. */
async function sampleHashes({ chain, first, last }: SettledChain): Promise<Hex[]> {
  const blocks = Math.ceil(PEER / PER_BLOCK)
  const hashes: Hex[] = []
  for (let index = 0; index < blocks; index += 1) {
    const number = first + Math.floor((index * (last - first)) / Math.max(1, blocks - 1))
    const call = { method: 'eth_getBlockByNumber', params: [toQuantity(number), false] }
    const block = (await callRpc({ url: chain.url, ...call })) as { transactions: Hex[] }
    hashes.push(...block.transactions)
  }
  return hashes.slice(0, PEER)
}

function tellAll(found: {
  run: Awaited<ReturnType<typeof performRun>>
  loops: readonly Loop[]
  sweep: Awaited<ReturnType<typeof measureReading>>
}): void {
  const { run, loops, sweep } = found
  const timesFaster = Object.fromEntries(
    loops.map(({ what, count, seconds }) => {
      const secondsForAll = (seconds * SETTLEMENTS) / count
      return [what, secondsForAll / run.chainSeconds]
    }),
  )
  console.log(JSON.stringify({ settlements: SETTLEMENTS, ...found, timesFaster }, null, 2))
  const [plain] = loops
  const peer = {
    what: `receipts: ${plain?.what}, of ${plain?.count}`,
    value: plain?.perSecond ?? Number.NaN,
  }
  tellRows('runs', [
    {
      what: 'settlements reconciled in a run, fees and all',
      unit: 'a second',
      ours: SETTLEMENTS / run.seconds,
      peer,
    },
    {
      what: 'settlements read by the sweep, without fees',
      unit: 'a second',
      ours: SETTLEMENTS / sweep.readingSeconds,
      peer,
      floor: { what: 'eth_getLogs and no more', value: SETTLEMENTS / sweep.floorSeconds },
    },
    { what: 'the most memory of the run', unit: 'MB', ours: run.memoryMb.at(-1) ?? Number.NaN },
  ])
}

function tellEvery(what: string) {
  const startedAt = performance.now()
  return (count: number): void => {
    if (count % 50_000 !== 0) return
    const seconds = (performance.now() - startedAt) / 1000
    console.error(`${what} ${count} of ${SETTLEMENTS} in ${seconds.toFixed(1)} s`)
  }
}

await main().catch((error: unknown) => {
  console.error(messageOf(error))
  process.exitCode = 2
})
