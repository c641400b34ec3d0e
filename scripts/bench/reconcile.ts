import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'

import { messageOf } from '../../src/base/errors.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import {
  measureReceiptLoops,
  paceOf,
  readRawLogs,
  timed,
  type Loop,
} from '../../test/engines/bench/receipt-loops.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { measureReading } from '../../test/engines/bench/sweep-bench.ts'
import {
  bareRow,
  settledRow,
  settleMany,
  transferMany,
} from '../../test/engines/injected/paid-orders.ts'
import type { Row } from '../../test/fixtures/books/reconcile.ts'
import { startPaidChain, type PaidChain } from '../../test/fixtures/books/verify.ts'
import { runProgram } from '../../test/fixtures/program.ts'

const SETTLEMENTS = Number(process.env['BENCH_SETTLEMENTS'] ?? 100_000)
const DIRECT = Number(process.env['BENCH_DIRECT'] ?? 10_000)
const PEER = Math.min(DIRECT, Number(process.env['BENCH_PEER'] ?? 2_000))
/** So many blocks of settlements in a range, as the sweep comes to ask for them. */
const STEP = 25

/** Fills a chain, reconciles it beside what others would write, and prints both. */
async function main(): Promise<void> {
  const world = await startPaidChain()
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
  try {
    const settlements = await fill('settled', SETTLEMENTS, () => settleMany(world, SETTLEMENTS))
    const direct = await fill('transferred', DIRECT, () => transferMany(world, DIRECT))
    await world.mine(5)
    const file = join(folder, 'settlements.csv')
    const rows = settlements.map((one, at) => settledRow(`TX${at}`, one))
    await writeRows(file, rows)
    const compared = await run(world, file)
    const hashes = join(folder, 'hashes.csv')
    await writeRows(
      hashes,
      direct.map((hash, at) => bareRow(`TXd${at}`, hash)),
    )
    const looked = await run(world, hashes)
    const { url } = world.chain
    const last = Number(await callRpc({ url, method: 'eth_blockNumber', params: [] }))
    const readRaw = () => readRawLogs(world, { first: 0, last, step: STEP })
    const sweep = await measureReading({ ...world, first: 0, last }, readRaw)
    const loops = await measureReceiptLoops(url, direct.slice(0, PEER))
    tellAll({
      settlements: toldOf(compared, SETTLEMENTS),
      sweep,
      hashes: toldOf(looked, DIRECT),
      loops,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await world.chain.stop()
  }
}

async function fill<T>(what: string, count: number, work: () => Promise<T>): Promise<T> {
  const { value, seconds } = await timed(work)
  console.error(`${what} ${count} in ${seconds.toFixed(1)} s`)
  return value
}

function tellAll(found: {
  settlements: ReturnType<typeof toldOf>
  sweep: Awaited<ReturnType<typeof measureReading>>
  hashes: ReturnType<typeof toldOf>
  loops: readonly Loop[]
}): void {
  console.log(JSON.stringify(found, null, 2))
  const { settlements, sweep, hashes, loops } = found
  const [plain] = loops
  const peer = { what: `receipts: ${plain?.what}`, value: plain?.perSecond ?? Number.NaN }
  tellRows('reconcile', [
    {
      what: 'settlements read by the sweep',
      unit: 'a second',
      ours: SETTLEMENTS / sweep.readingSeconds,
      peer,
      floor: { what: 'eth_getLogs and no more', value: SETTLEMENTS / sweep.floorSeconds },
    },
    {
      what: 'settlements of a file compared',
      unit: 'a second',
      ours: settlements.perSecond,
      peer,
    },
    { what: 'bare hashes looked up and compared', unit: 'a second', ours: hashes.perSecond, peer },
  ])
}

async function writeRows(file: string, rows: readonly Row[]): Promise<void> {
  const names = Object.keys(rows[0] ?? {})
  const stream = createWriteStream(file)
  stream.write(`${names.join(',')}\n`)
  for (const row of rows) {
    const isTaken = stream.write(`${names.map((name) => String(row[name])).join(',')}\n`)
    if (!isTaken) await once(stream, 'drain')
  }
  stream.end()
  await finished(stream)
}

type Ran = { summary: { matched: number; elapsed_ms: number }; peakMb: number }

/** The program itself, whose memory holds nothing of this one's. */
async function run(world: PaidChain, file: string): Promise<Ran> {
  const program = runProgram(['reconcile', '--source', file, '--json'], {
    ETH_RPC_URL: world.chain.url,
    QUITTANCE_CONFIRMATIONS: '2',
    QUITTANCE_DATA: `${file}-none`,
    SETTLEMENT_ADDRESS: world.settlement,
    STABLECOIN_ADDRESS: world.dollar,
  })
  let peakMb = 0
  const watching = setInterval(() => {
    peakMb = Math.max(peakMb, peakMemoryOf(program.pid))
  }, 100)
  const code = await program.ended
  clearInterval(watching)
  const { stdout, stderr } = program.output()
  if (code !== 0) throw new Error(stderr || stdout.slice(-500))
  return { ...(JSON.parse(stdout) as Omit<Ran, 'peakMb'>), peakMb }
}

/** By its own clock, which leaves out how long a process takes to start. */
function toldOf({ summary, peakMb }: Ran, count: number) {
  return { ...paceOf(count, summary.elapsed_ms / 1000), peakMb, ...summary }
}

/** The most that it has held so far, which Linux tells. */
function peakMemoryOf(pid: number): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kilobytes ?? 0) / 1024)
  } catch {
    return 0
  }
}

await main().catch((error: unknown) => {
  console.error(messageOf(error))
  process.exitCode = 2
})
