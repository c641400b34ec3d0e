import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'

import { JsonRpcProvider } from 'ethers'
import { createPublicClient, http, type Hex } from 'viem'

import { messageOf } from '../src/base/errors.ts'
import { topicOf } from '../src/chain/events.ts'
import { callRpc } from '../src/chain/rpc.ts'
import { BREAK_KINDS, type BreakKind } from '../src/domain/breaks.ts'
import { tellRows } from '../test/support/bench-result.ts'
import { runProgram } from '../test/support/program.ts'
import { measureSweep } from '../test/support/sweep-bench.ts'
import { calls, CHAIN_ID, startPaidChain, type PaidChain } from '../test/support/verify.ts'

const SETTLEMENTS = Number(process.env['BENCH_SETTLEMENTS'] ?? 100_000)
const DIRECT = Number(process.env['BENCH_DIRECT'] ?? 10_000)
const PEER = Math.min(DIRECT, Number(process.env['BENCH_PEER'] ?? 2_000))
const BREAKS = Number(process.env['BENCH_BREAKS'] ?? 100)
const BATCH = 400
const GHOST = 'ee'.repeat(28)

type Row = Record<string, string>
type Settlement = { hash: Hex; reference: Hex; payee: Hex }

/** Fills a chain, reconciles it beside what others would write, and prints both. */
async function main(): Promise<void> {
  const world = await startPaidChain()
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
  try {
    const settlements = await timed('settle', SETTLEMENTS, () => settle(world))
    const direct = await timed('transfer', DIRECT, () => transfer(world))
    await world.mine(5)
    const strange = await makeStrange(world, {
      settled: settlements.value[0],
      direct: direct.value[0],
    })
    const file = join(folder, 'settlements.csv')
    const expected = await writeRecords(file, {
      settlements: settlements.value,
      strange,
    })
    const found = await timed('settlements', SETTLEMENTS, () => run(world, file))
    const hashes = join(folder, 'hashes.csv')
    await writeRows(
      hashes,
      direct.value.map((hash, at) => bare(`TXd${at}`, hash)),
    )
    const ours = await timed('hashes', DIRECT, () => run(world, hashes))
    const swept = await timed('sweep beside eth_getLogs', SETTLEMENTS, () =>
      measureSweep(world, () => readRaw(world)),
    )
    const peers = await measurePeers(world, direct.value.slice(0, PEER))
    const { readingSeconds, floorSeconds } = swept.value
    const result = {
      filled: [settlements.told, direct.told],
      settlements: toldOf(found.value, SETTLEMENTS),
      sweep: swept.value,
      hashes: toldOf(ours.value, DIRECT),
      peers,
      faults: score(expected, found.value.breaks),
    }
    console.log(JSON.stringify(result, null, 2))
    const [plain] = peers
    tellRows('reconcile', [
      {
        what: 'settlements read by the sweep',
        unit: 'a second',
        ours: SETTLEMENTS / readingSeconds,
        peer: { what: `receipts: ${plain?.what}`, value: plain?.perSecond ?? Number.NaN },
        floor: { what: 'eth_getLogs and no more', value: SETTLEMENTS / floorSeconds },
      },
      {
        what: 'settlements of a file compared',
        unit: 'a second',
        ours: toldOf(found.value, SETTLEMENTS).perSecond,
        peer: { what: `receipts: ${plain?.what}`, value: plain?.perSecond ?? Number.NaN },
      },
      {
        what: 'bare hashes looked up and compared',
        unit: 'a second',
        ours: toldOf(ours.value, DIRECT).perSecond,
        peer: { what: plain?.what ?? '', value: plain?.perSecond ?? Number.NaN },
      },
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await world.chain.stop()
  }
}

type Told = { what: string; count: number; seconds: number; perSecond: number }

async function timed<T>(
  what: string,
  count: number,
  work: () => Promise<T>,
): Promise<{ value: T; told: Told }> {
  const startedAt = performance.now()
  const value = await work()
  const seconds = (performance.now() - startedAt) / 1000
  const perSecond = Math.round(count / seconds)
  console.error(`${what}: ${count} in ${seconds.toFixed(1)} s, ${perSecond}/s`)
  return { value, told: { what, count, seconds: Math.round(seconds * 100) / 100, perSecond } }
}

async function settle(world: PaidChain): Promise<Settlement[]> {
  const all: Settlement[] = []
  for (let from = 0; from < SETTLEMENTS; from += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, SETTLEMENTS - from) }, (_, at) => ({
      reference: hex32(from + at + 1),
      payee: world.payee,
    }))
    const references = items.map(({ reference }) => reference)
    const payees = items.map(({ payee }) => payee)
    const data = calls.settleBatch(
      references,
      payees,
      payees.map(() => 5n),
    )
    const call = { to: world.settlement, data, value: BigInt(5 * items.length) }
    const hash = await world.send({ ...call, gas: '0xf00000' })
    all.push(...items.map((item) => ({ ...item, hash })))
  }
  return all
}

async function transfer(world: PaidChain): Promise<Hex[]> {
  const ask = (method: string, ...params: unknown[]) =>
    callRpc({ url: world.chain.url, method, params, timeoutMs: 60_000 })
  await ask('evm_setAutomine', false)
  const hashes: Hex[] = []
  for (let at = 0; at < DIRECT; at += 1) {
    hashes.push(await world.send({ to: world.payee, value: 1n, gas: '0x5208' }))
    if (at % 200 === 199) await ask('anvil_mine', '0x1')
  }
  await ask('anvil_mine', '0x1')
  await ask('evm_setAutomine', true)
  return hashes
}

/** What breaks need that is on the chain. */
type Strange = { reverted: Hex; elsewhere: Settlement; ours: Row; others: Row }

async function makeStrange(
  world: PaidChain,
  of: { settled: Settlement | undefined; direct: Hex | undefined },
): Promise<Strange> {
  const { settlement, payee, chain } = world
  const ask = (method: string, ...params: unknown[]) =>
    callRpc({ url: chain.url, method, params, timeoutMs: 60_000 })
  const again = calls.settle(of.settled?.reference ?? '0x', payee)
  const reverted = await world.send({ to: settlement, data: again, value: 5n })
  const other: Hex = `0x${'c0'.repeat(20)}`
  await ask('anvil_setCode', other, await ask('eth_getCode', settlement, 'latest'))
  const reference: Hex = `0x${'33'.repeat(32)}`
  const data = calls.settle(reference, payee)
  const hash = await world.send({ to: other, data, value: 5n })
  await world.mine(5)
  const nonceOf = async (hash: Hex | undefined): Promise<Row> => {
    const { nonce } = (await ask('eth_getTransactionByHash', hash)) as { nonce: Hex }
    return { from_address: world.payer, nonce: String(BigInt(nonce)) }
  }
  const [ours, others] = [await nonceOf(of.settled?.hash), await nonceOf(of.direct)]
  return { reverted, elsewhere: { hash, reference, payee }, ours, others }
}

type Expected = Map<string, BreakKind>

/** All good records, with the bad ones spread among them. */
async function writeRecords(
  file: string,
  on: { settlements: readonly Settlement[]; strange: Strange },
): Promise<Expected> {
  const { settlements } = on
  const expected: Expected = new Map()
  const rows: Row[] = settlements.map((one, at) => good(`TX${at}`, one))
  const every = Math.max(1, Math.floor(settlements.length / (BREAKS * BAD.length)))
  const bad = BAD.flatMap(([kind, make]) =>
    Array.from({ length: BREAKS }, (_, at) => ({ kind, make, id: `BAD-${kind}-${at}` })),
  )
  const mixed: Row[] = []
  for (const [at, row] of rows.entries()) {
    mixed.push(row)
    const next = at % every === 0 ? bad.shift() : undefined
    if (next === undefined) continue
    expected.set(next.id, next.kind)
    mixed.push(next.make(next.id, settlements[at] as Settlement, on.strange))
  }
  await writeRows(file, mixed)
  return expected
}

type Make = (id: string, near: Settlement, on: Strange) => Row

const BAD: readonly (readonly [BreakKind, Make])[] = [
  ['missing', (id, near) => good(id, { ...near, hash: ghost(id) })],
  [
    'dropped',
    (id, near) => ({
      ...good(id, { ...near, hash: ghost(id) }),
      status: 'pending',
      created_at: '2020-01-01',
    }),
  ],
  ['reverted', (id, near, on) => good(id, { ...near, hash: on.reverted })],
  ['wrong_contract', (id, _, on) => good(id, on.elsewhere)],
  ['wrong_hash', (id, near) => ({ ...good(id, near), raw_transaction: '0x02c0' })],
  [
    'replaced_by_ours',
    (id, near, on) => ({ ...good(id, { ...near, hash: ghost(id) }), ...on.ours }),
  ],
  [
    'replaced_unknown',
    (id, near, on) => ({ ...good(id, { ...near, hash: ghost(id) }), ...on.others }),
  ],
  ['wrong_amount', (id, near) => ({ ...good(id, near), amount: '0.000000000000000006' })],
  ['wrong_recipient', (id, near) => ({ ...good(id, near), to_address: `0x${'11'.repeat(20)}` })],
  ['wrong_reference', (id, near) => ({ ...good(id, near), reference: `0x${'22'.repeat(32)}` })],
  ['reorged', (id, near) => ({ ...good(id, near), block_hash: ghost(id) })],
  ['fee_mismatch', (id, near) => ({ ...good(id, near), gas_used: '1', gas_price: '1' })],
  ['state_lag', (id, near) => ({ ...good(id, near), status: 'pending' })],
  ['duplicate_payment', (id, near) => good(id, near)],
]

function good(id: string, { hash, reference, payee }: Settlement): Row {
  const amount = '0.000000000000000005'
  return { ...bare(id, hash), to_address: payee, amount, reference, status: 'completed' }
}

function bare(id: string, hash: Hex): Row {
  return { transaction_id: id, eth_transaction_hash: hash }
}

function ghost(id: string): Hex {
  return `0x${GHOST}${Buffer.from(id).toString('hex').slice(-8)}`
}

async function writeRows(file: string, rows: readonly Row[]): Promise<void> {
  const first = ['transaction_id', 'eth_transaction_hash', 'to_address', 'amount', 'reference']
  const names = [
    ...first,
    'status',
    'created_at',
    'block_hash',
    'gas_used',
    'gas_price',
    'raw_transaction',
    'from_address',
    'nonce',
  ]
  const stream = createWriteStream(file)
  stream.write(`${names.join(',')}\n`)
  for (const row of rows) {
    const isTaken = stream.write(`${names.map((name) => row[name] ?? '').join(',')}\n`)
    if (!isTaken) await once(stream, 'drain')
  }
  stream.end()
  await finished(stream)
}

type Found = { transaction_id: string | null; kind: string }
type Ran = { summary: { matched: number; elapsed_ms: number }; breaks: Found[]; peakMb: number }

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
  if (code !== 0 && code !== 1) throw new Error(stderr)
  return { ...(JSON.parse(stdout) as Omit<Ran, 'peakMb'>), peakMb }
}

/** By its own clock, which leaves out how long a process takes to start. */
function toldOf({ summary, peakMb }: Ran, count: number) {
  const seconds = summary.elapsed_ms / 1000
  return { count, seconds, perSecond: Math.round(count / seconds), peakMb, ...summary }
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

/** What reading the logs costs at the least: the same ranges, and nothing done with them. */
async function readRaw(world: PaidChain): Promise<void> {
  const ask = (method: string, params: unknown[]) =>
    callRpc({ url: world.chain.url, method, params, timeoutMs: 60_000 })
  const head = Number(await ask('eth_blockNumber', []))
  for (let from = 0; from <= head; from += 25) {
    const range = { fromBlock: hex(from), toBlock: hex(Math.min(head, from + 24)) }
    await ask('eth_getLogs', [
      { address: world.settlement, topics: [topicOf('Settled')], ...range },
    ])
  }
}

function hex32(number: number): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`
}

function hex(number: number): Hex {
  return `0x${number.toString(16)}`
}

async function measurePeers(world: PaidChain, hashes: readonly Hex[]): Promise<Told[]> {
  const { url } = world.chain
  const plain = createPublicClient({ transport: http(url) })
  const batching = createPublicClient({ transport: http(url, { batch: { batchSize: 100 } }) })
  const ethers = new JsonRpcProvider(url, CHAIN_ID, { staticNetwork: true })
  const loops = {
    'viem, one by one': async () => {
      for (const hash of hashes) await plain.getTransactionReceipt({ hash })
    },
    'viem, batches of 100': async () => {
      for (let at = 0; at < hashes.length; at += 1000) {
        const some = hashes.slice(at, at + 1000)
        await Promise.all(some.map((hash) => batching.getTransactionReceipt({ hash })))
      }
    },
    'ethers, one by one': async () => {
      for (const hash of hashes) await ethers.getTransactionReceipt(hash)
    },
  }
  const told: Told[] = []
  for (const [name, work] of Object.entries(loops)) {
    told.push((await timed(name, hashes.length, work)).told)
  }
  ethers.destroy()
  return told
}

/** Every injected break must be found with its kind, and nothing else may be found. */
function score(expected: Expected, findings: readonly Found[]) {
  const isRight = ({ transaction_id: id, kind }: Found): boolean => expected.get(id ?? '') === kind
  const right = findings.filter(isRight)
  const found = new Set(right.map((one) => one.transaction_id))
  const kinds = BREAK_KINDS.flatMap((kind) => {
    const injected = [...expected].filter(([, wanted]) => wanted === kind)
    const hits = injected.filter(([id]) => found.has(id)).length
    return injected.length === 0 ? [] : [`${kind} ${hits}/${injected.length}`]
  })
  const recall = expected.size === 0 ? 1 : found.size / expected.size
  const precision = findings.length === 0 ? 1 : right.length / findings.length
  const wrong = findings.filter((one) => !isRight(one)).slice(0, 5)
  return { injected: expected.size, recall, precision, kinds, wrong }
}

await main().catch((error: unknown) => {
  console.error(messageOf(error))
  process.exitCode = 2
})
