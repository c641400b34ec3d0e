/**
 * Payments a second through the API of real processes, accepted and confirmed, beside loops of viem
 * and of ethers that send and wait: the same signers, the same chain, the same run; and the rows of
 * a CSV by `quittance pay`, with the processor time of our programs for each of them. On PostgreSQL
 * once more with no worker, for what `serve` accepts where workers have machines of their own; and
 * with BENCH_PROCESSES by so many `serve` and `work`, beside one of each.
 *
 * It counts what each payment costs: processor time of each program, rows, and bytes of the log;
 * and statements, where the server loads pg_stat_statements.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { JsonRpcProvider, NonceManager, Wallet } from 'ethers'
import { createClient, createNonceManager, http, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { sendTransaction, waitForTransactionReceipt } from 'viem/actions'
import { jsonRpc } from 'viem/nonce'

import { settlementAddress } from '../../src/bindings/addresses.ts'
import { messageOf } from '../../src/base/errors.ts'
import { startAnvil } from '../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { countCost, type Cost, type Parts } from '../../test/engines/bench/cost.ts'
import { cpuTimeOfProcess } from '../../test/engines/bench/cpu.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { createWorld, placeSettlement } from '../../test/engines/sim/world.ts'
import { makeKey, makeUser } from '../../test/fixtures/api/access.ts'
import { postJson } from '../../test/fixtures/api/post.ts'
import { runProgram, runToEnd, type Program } from '../../test/fixtures/program.ts'
import { dropOwnDatabases, emptyDatabaseUrl } from '../../test/fixtures/store/database.ts'

/** A second more, until the next block, would be an eighth of the time that half as many take. */
const PAYMENTS = Number(process.env['BENCH_PAYMENTS'] ?? 6000)
const SIGNERS = 20
/** The peers have no limit; anvil takes as many as there are. */
const IN_FLIGHT = process.env['BENCH_IN_FLIGHT'] ?? '150'
const CONFIRMATIONS = 2
const ROWS = Number(process.env['BENCH_ROWS'] ?? 10_000)
const PEER_WAIT_MS = 60_000
/** The peer sends all of them at once. */
const CONCURRENCY = Number(process.env['BENCH_CONCURRENCY'] ?? 64)
const PROCESSES = Number(process.env['BENCH_PROCESSES'] ?? 1)
const MNEMONIC = 'test test test test test test test test test test test junk'
const PAYEE = '0x00000000000000000000000000000000000000aa'

const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-'))
const chain = await startAnvil({ folder: join(folder, 'chain'), blockMs: 1000, mnemonic: MNEMONIC })
const programs: Array<{ role: 'serve' | 'work' | 'up'; program: Program }> = []
const urls: string[] = []
/** Undefined stands for the embedded database. */
let databaseUrl: string | undefined
try {
  const keys = await prepare()
  await startPrograms()
  const mode = databaseUrl ? 'serve and work on PostgreSQL' : 'up on PGlite'
  const ours = await measureOurs(keys)
  const half = await acceptAt(ours.confirmedPerSecond / 2, keys)
  const file = await measureFile(keys)
  const many = databaseUrl && PROCESSES > 1 ? await measureMany(keys) : undefined
  const alone = databaseUrl ? await measureAlone(keys) : undefined
  const viem = await measureViem()
  const rows = [
    { what: `ours, ${mode}`, ...ours },
    { what: 'ours, half as many a second as it confirms', ...half },
    { what: `ours, a CSV of ${ROWS}`, ...file },
    ...(many ? [{ what: `ours, ${PROCESSES} serve and ${PROCESSES} work`, ...many }] : []),
    ...(alone ? [{ what: 'ours, serve without a worker', ...alone }] : []),
    { what: 'viem: sendTransaction with its nonce manager, then wait', ...viem },
    { what: 'ethers: NonceManager, then wait', ...(await measureEthers()) },
  ]
  for (const { what, ...figures } of rows) console.log(what, figures)
  console.log(JSON.stringify({ payments: PAYMENTS, signers: SIGNERS, rows }))
  tellRows('pay', [
    { what: 'payments accepted', unit: 'a second', ours: ours.acceptedPerSecond },
    ...(alone
      ? [{ what: 'accepted with no worker', unit: 'a second', ours: alone.acceptedPerSecond }]
      : []),
    {
      what: 'payments confirmed',
      unit: 'a second',
      ours: ours.confirmedPerSecond,
      peer: { what: 'viem with its nonce manager', value: viem.confirmedPerSecond },
    },
    { what: 'processor for each of them', unit: 'ms', ours: oursOf(ours.cost) },
    { what: 'p95 of acceptance at half of that load', unit: 'ms', ours: half.p95Ms },
    {
      what: `payments of a CSV of ${ROWS} confirmed`,
      unit: 'a second',
      ours: file.confirmedPerSecond,
      peer: { what: 'viem with its nonce manager', value: viem.confirmedPerSecond },
    },
    { what: 'processor for each of them', unit: 'ms', ours: file.cpuMs },
  ])
} finally {
  for (const { program } of programs) program.kill('SIGTERM')
  await Promise.all(programs.map(({ program }) => program.ended))
  await chain.stop()
  await dropOwnDatabases()
  rmSync(folder, { recursive: true, force: true })
}

type Figures = { confirmedPerSecond: number }
type Accepting = { acceptedPerSecond: number; p50Ms: number; p95Ms: number }

function environment(name: string): Record<string, string> {
  return {
    QUITTANCE_DATA: join(folder, name),
    ETH_RPC_URL: chain.url,
    QUITTANCE_CONFIRMATIONS: String(CONFIRMATIONS),
    QUITTANCE_IN_FLIGHT: IN_FLIGHT,
    SETTLEMENT_ADDRESS: settlementAddress,
    PORT: '0',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  }
}

/** Users with money and a key each; one key may ask a thousand times a minute. */
async function prepare(): Promise<string[]> {
  mkdirSync(join(folder, 'up'))
  const url = await emptyDatabaseUrl()
  databaseUrl = url
  const database = await openDatabase(url ? { url } : { folder: join(folder, 'up', 'database') })
  await migrate(database.db)
  const keys: string[] = []
  for (let place = 1; place <= SIGNERS; place++) {
    const user = await makeUser(database.db)
    keys.push((await makeKey(database.db, { user })).text)
    await rpc('anvil_setBalance', [accountOf(user.id).address, toHex(10n ** 24n)])
  }
  await placeSettlement(createWorld(chain.url))
  await database.close()
  return keys
}

async function startPrograms(): Promise<void> {
  const roles = databaseUrl ? (['serve', 'work'] as const) : (['up'] as const)
  const started = roles.map((role) => {
    const name = role === 'up' ? role : `${role}-${programs.length}`
    return { role, program: runProgram([role], environment(name)) }
  })
  programs.push(...started)
  const facts = await Promise.all(started.map(({ program }) => program.untilReady()))
  urls.push(...facts.flatMap(({ url }) => url ?? []))
}

async function measureOurs(keys: readonly string[]): Promise<Accepting & Figures & { cost: Cost }> {
  const counted = await countCost(parts(), databaseUrl)
  const startedAt = performance.now()
  const accepting = await accept(keys)
  while ((await openOrders()) > 0) await new Promise((later) => setTimeout(later, 100))
  const confirmedPerSecond = perSecond(PAYMENTS, performance.now() - startedAt)
  return { ...accepting, confirmedPerSecond, cost: await counted.end(PAYMENTS) }
}

/** Of our programs and their database; the chain is not ours. */
function oursOf({ cpuMs }: Cost): number {
  const { chain: _, ...ours } = cpuMs
  return Object.values(ours).reduce((sum, ms) => sum + ms, 0)
}

function parts(): Parts {
  const ours = Map.groupBy(programs, ({ role }) => role)
  const pids = [...ours].map(([role, of]) => [role, of.map(({ program }) => program.pid)] as const)
  return { ...Object.fromEntries(pids), chain: [chain.pid] }
}

/** By `quittance pay`, from the first request that pays to the last payment that is final. */
async function measureFile([key = '']: readonly string[]): Promise<Figures & { cpuMs: number }> {
  const payees = Array.from({ length: ROWS }, (_, place) => {
    return `0x${(0xfee0_0000 + place).toString(16).padStart(40, '0')}`
  })
  for (const payee of payees) await rpc('anvil_setBalance', [payee, '0x1'])
  const path = join(folder, 'payroll.csv')
  const rows = payees.map((payee, place) => `${payee},0.0001,ETH,row-${place}`)
  writeFileSync(path, ['to_address,amount,currency,external_id', ...rows].join('\n'))
  const cpuBefore = cpuTime()
  const flags = ['--url', urls[0] ?? '', '--yes', '--json']
  const { code, stdout, stderr } = await runToEnd(['pay', path, ...flags], {
    QUITTANCE_PAY_KEY: key,
  })
  if (code !== 0) throw new Error(stderr)
  const { seconds } = JSON.parse(stdout) as { seconds: number }
  const confirmedPerSecond = perSecond(ROWS, seconds * 1000)
  return { confirmedPerSecond, cpuMs: Math.round((100 * (cpuTime() - cpuBefore)) / ROWS) / 100 }
}

function cpuTime(): number {
  return programs.reduce((sum, { program: { pid } }) => sum + cpuTimeOfProcess(pid), 0)
}

async function measureMany(keys: readonly string[]): Promise<Accepting & Figures> {
  for (let process = 1; process < PROCESSES; process++) await startPrograms()
  return measureOurs(keys)
}

/** What it leaves open nobody waits for. */
async function measureAlone(keys: readonly string[]): Promise<Accepting> {
  const workers = programs.filter(({ role }) => role === 'work').map(({ program }) => program)
  for (const worker of workers) worker.kill('SIGTERM')
  await Promise.all(workers.map(({ ended }) => ended))
  return accept(keys)
}

async function accept(keys: readonly string[]): Promise<Accepting> {
  const times: number[] = []
  const pay = createPayer(keys)
  let sent = 0
  const startedAt = performance.now()
  const sendAll = async (): Promise<void> => {
    while (sent < PAYMENTS) times.push(await pay.next(sent++))
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, sendAll))
  return figuresOf(times, startedAt, pay)
}

/** So many a second, whether those before are answered or not. */
async function acceptAt(perSecond: number, keys: readonly string[]): Promise<Accepting> {
  const pay = createPayer(keys)
  const sending: Promise<number>[] = []
  const startedAt = performance.now()
  for (let sent = 0; sent < PAYMENTS / 3; sent++) {
    const early = startedAt + (1000 * sent) / perSecond - performance.now()
    if (early > 0) await sleep(early)
    sending.push(pay.next(sent))
  }
  return figuresOf(await Promise.all(sending), startedAt, pay)
}

type Payer = { next: (place: number) => Promise<number>; end: () => void }

/** Resolves to how long the platform took to accept one payment. */
function createPayer(keys: readonly string[]): Payer {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
  return {
    async next(place) {
      const sentAt = performance.now()
      const request = {
        agent,
        url: `${urls[place % urls.length]}/api/blockchain/transactions`,
        headers: { 'x-api-key': keys[place % keys.length] ?? '' },
        body: { to_address: PAYEE, amount: '0.001', description: 'bench' },
      }
      let answer = await postJson(request)
      // A busy server did nothing with it. The wait counts as any other.
      while (answer.status === 503) {
        await sleep(100)
        answer = await postJson(request)
      }
      if (answer.status !== 201) throw new Error(answer.text)
      return performance.now() - sentAt
    },
    end: () => agent.destroy(),
  }
}

function figuresOf(times: number[], startedAt: number, pay: Payer): Accepting {
  const acceptedMs = performance.now() - startedAt
  pay.end()
  times.sort((a, b) => a - b)
  const at = (share: number): number => Math.round(times[Math.floor(times.length * share)] ?? 0)
  return {
    acceptedPerSecond: perSecond(times.length, acceptedMs),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
  }
}

async function openOrders(): Promise<number> {
  const metrics = await (await fetch(`${urls[0]}/metrics`)).text()
  return Number(/^quittance_open_orders\{.*\} (\d+)$/m.exec(metrics)?.[1] ?? Number.NaN)
}

async function measureViem(): Promise<Peer> {
  const client = createClient({ transport: http(chain.url), pollingInterval: 100, cacheTime: 0 })
  const nonceManager = createNonceManager({ source: jsonRpc() })
  return measurePeer(async (place, { count, onConfirmed }) => {
    const account = mnemonicToAccount(MNEMONIC, { addressIndex: place, nonceManager })
    const sends = Array.from({ length: count }, () =>
      sendTransaction(client, { account, to: PAYEE, value: 1n, chain: null }),
    )
    await Promise.allSettled(sends)
    for (const sent of sends) {
      const hash = await sent
      await waitForTransactionReceipt(client, {
        hash,
        confirmations: CONFIRMATIONS,
        timeout: PEER_WAIT_MS,
      })
      onConfirmed(1)
    }
  })
}

async function measureEthers(): Promise<Peer> {
  const provider = new JsonRpcProvider(chain.url, undefined, { pollingInterval: 100 })
  try {
    return await measurePeer(async (place, { count, onConfirmed }) => {
      const key = accountOf(place).getHdKey().privateKey
      const wallet = new NonceManager(new Wallet(toHex(key ?? new Uint8Array()), provider))
      for (let sent = 0; sent < count; sent++) {
        const one = await wallet.sendTransaction({ to: PAYEE, value: 1n })
        if (sent === count - 1) await one.wait(CONFIRMATIONS, PEER_WAIT_MS)
      }
      onConfirmed(count)
    })
  } finally {
    provider.destroy()
  }
}

type Peer = Figures & { lost: number }
type Share = { count: number; onConfirmed: (count: number) => void }

/**
 * Neither stores anything, so neither survives a crash; they are the floor, not the like. One that
 * loses a transaction is measured by those it confirmed, up to the last of them.
 */
async function measurePeer(pay: (place: number, share: Share) => Promise<void>): Promise<Peer> {
  const startedAt = performance.now()
  let confirmed = 0
  let lastMs = Number.NaN
  const onConfirmed = (count: number): void => {
    confirmed += count
    lastMs = performance.now() - startedAt
  }
  const share = { count: PAYMENTS / SIGNERS, onConfirmed }
  const loops = await Promise.allSettled(
    Array.from({ length: SIGNERS }, (_, index) => pay(index + 1, share)),
  )
  for (const loop of loops) if (loop.status === 'rejected') console.error(messageOf(loop.reason))
  return { confirmedPerSecond: perSecond(confirmed, lastMs), lost: PAYMENTS - confirmed }
}

function accountOf(place: number) {
  return mnemonicToAccount(MNEMONIC, { addressIndex: place })
}

function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
  return callRpc({ url: chain.url, method, params })
}

function perSecond(count: number, ms: number): number {
  return Math.round(count / (ms / 1000))
}
