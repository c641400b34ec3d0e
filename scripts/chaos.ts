/**
 * Pays, transfers and mints through real processes while they are killed with kill -9 at random,
 * and then compares chain, ledger and records: `npm run chaos -- --kills 100`. On DATABASE_URL it
 * runs three `serve` and three `work`, else one `up` on the embedded database. `--restart COMMAND`
 * is run once, half way: it may restart the database server.
 *
 * `--failover` kills the database instead: the primary of two servers that it starts itself, whose
 * standby takes over. With `--asynchronous` the standby may lag, and the run counts what is lost.
 *
 * `--rolling` kills nobody: it restarts every process with SIGTERM, one after the other, behind a
 * balancer that asks `/readyz`, and no request may fail.
 */
import { exec } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { toHex } from 'viem'

import { startAnvil } from '../src/chain/embedded/anvil.ts'
import { messageOf } from '../src/base/errors.ts'
import { callRpc } from '../src/chain/rpc/rpc.ts'
import { connectDeployer } from '../src/deploy/connect.ts'
import { MAX_ALLOWANCE } from '../src/deploy/minter.ts'
import { NETWORKS } from '../src/deploy/networks.ts'
import type { Hex } from '../src/domain/orders.ts'
import { openDatabase, type Database } from '../src/store/database/database.ts'
import { migrate } from '../src/store/database/migrate.ts'
import { startBalancer } from '../test/engines/chaos/balancer.ts'
import { compareChain, compareLedger } from '../test/engines/chaos/compare.ts'
import { startFleet, type Fleet } from '../test/engines/chaos/fleet.ts'
import { askOnce, PATHS, send, type Asked, type Payer } from '../test/engines/chaos/payer.ts'
import { makeKey, makeUser } from '../test/fixtures/api/access.ts'
import { DOLLAR, makeWallets } from '../test/fixtures/books/money.ts'
import { account, forgetfulRecords } from '../test/fixtures/chain/deployment.ts'
import { createRandom } from '../test/fixtures/random.ts'
import { positive, scriptCommand, wholeNumber } from '../test/fixtures/script.ts'
import { findPostgres, startCluster, type Cluster } from '../test/fixtures/store/cluster.ts'
import { dropOwnDatabases, emptyDatabaseUrl } from '../test/fixtures/store/database.ts'

const about =
  'Pays through real processes that are killed with kill -9, and compares chain, ledger and records.'
const { failover, asynchronous, rolling, seed, restart, ...options } = scriptCommand('chaos', about)
  .option('--kills <count>', 'how many; by default 100, 10 primaries, or 3 rounds', positive)
  .option('--seed <number>', 'which ones are killed, and when', wholeNumber, 1)
  .option('--restart <command>', 'restarts the PostgreSQL server, which is done half way')
  .option('--failover', 'kills the primary of two PostgreSQL servers, and promotes its standby')
  .option('--asynchronous', 'with --failover: commits do not wait for the standby')
  .option('--rolling', 'restarts every process in turn, as often as --kills says')
  .parse()
  .opts<{
    kills?: number
    seed: number
    restart?: string
    failover?: boolean
    asynchronous?: boolean
    rolling?: boolean
  }>()
const kills = options.kills ?? (rolling ? 3 : failover ? 10 : 100)

const USERS = 8
const CLIENTS = 8
/** In millionths of a dollar; nobody spends all of it. */
const FUNDED = 1_000_000n * DOLLAR
const ACTS = 3
const SETTLE_MS = 5 * 60_000
const LAG_MS = 500
const OPEN: ReadonlySet<string> = new Set(['pending', 'processing'])
const MNEMONIC = 'test test test test test test test test test test test junk'

/** What a client was told that was no request to repeat. */
const refused: string[] = []
const { below: pick } = createRandom(`chaos ${seed}`)
const folder = mkdtempSync(join(tmpdir(), 'quittance-chaos-'))
const chain = await startAnvil({ folder: join(folder, 'chain'), blockMs: 500, mnemonic: MNEMONIC })
let fleet: Fleet | undefined
let cluster: Cluster | undefined
try {
  const stablecoin = await deploy()
  cluster = failover ? await startTwoServers() : undefined
  const url = cluster?.url ?? (await emptyDatabaseUrl())
  const payers = await prepare(url)
  const env = {
    ETH_RPC_URL: chain.url,
    STABLECOIN_ADDRESS: stablecoin,
    QUITTANCE_CONFIRMATIONS: '2',
    QUITTANCE_LOG_LEVEL: 'fatal',
    ...(rolling && { QUITTANCE_DRAIN_SECONDS: '1' }),
    ...(url && { DATABASE_URL: url }),
  }
  const roles = url ? SHARED_ROLES() : (['up'] as const)
  fleet = await startFleet({ roles, folder, env, onEnd: console.log })
  const startedAt = performance.now()
  const failures: string[] = []
  const asked = await (rolling
    ? askWhileRolling(fleet, payers, failures)
    : askWhileKilling(fleet, payers, cluster))
  await untilSettled(fleet.urls, asked)
  const seconds = (performance.now() - startedAt) / 1000
  const wrongs = [...failures, ...(await compareRecords(fleet.urls, { asked, payers }))]
  wrongs.push(...(await compareChain({ rpc, stablecoin, asked, payers })))
  await fleet.stop()
  const database = await open(url)
  wrongs.push(...(await compareLedger(database.db, { asked, payers, funded: FUNDED })))
  await database.close()
  for (const wrong of wrongs) console.log(wrong)
  if (asynchronous) console.log(await describeLoss(asked))
  const counts = Object.entries(Object.groupBy(asked, ({ act }) => act))
  console.log(
    `${counts.map(([act, some]) => `${some.length} ${act}s`).join(', ')}; ` +
      `${describeHarm(roles.length)}; ` +
      `${rolling ? `${failures.length} requests failed; ` : ''}` +
      `${(asked.length / seconds).toFixed(1)} a second in ${seconds.toFixed(0)} s; ` +
      `${wrongs.length} wrong`,
  )
  process.exitCode = (wrongs.length === 0 || asynchronous) && counts.length === ACTS ? 0 : 1
} finally {
  await fleet?.stop()
  await cluster?.stop()
  await chain.stop()
  await dropOwnDatabases()
  rmSync(folder, { recursive: true, force: true })
}

function describeHarm(processes: number): string {
  if (rolling) return `${kills} restarts of each of ${processes} processes`
  return `${kills} kills of ${cluster ? 'the primary' : `${processes} processes`}`
}

function SHARED_ROLES() {
  return ['serve', 'serve', 'serve', 'work', 'work', 'work'] as const
}

async function deploy(): Promise<Hex> {
  const minter = { address: account(0).address, allowance: MAX_ALLOWANCE }
  const deployer = await connectDeployer(
    { network: NETWORKS.localhost, rpcUrls: [chain.url], minter },
    { records: forgetfulRecords, waiting: { pollIntervalMs: 50 } },
  )
  const { addresses } = await deployer.execute()
  return addresses.ReferenceDollar
}

function open(url: string | undefined): Promise<Database> {
  return openDatabase(url ? { url } : { folder: join(folder, 'up-0', 'database') })
}

/** Users with money on the chain and in a wallet, on a database that all processes share. */
async function prepare(url: string | undefined): Promise<Payer[]> {
  mkdirSync(join(folder, 'up-0'))
  const { db, close } = await open(url)
  await migrate(db)
  const payers: Payer[] = []
  for (let place = 0; place < USERS; place++) {
    const user = await makeUser(db)
    const { address } = account(user.id)
    await rpc('anvil_setBalance', [address, toHex(10n ** 24n)])
    const { text: apiKey } = await makeKey(db, { user })
    payers.push({ userId: user.id, apiKey, address, ...(await makeWallets(db, user.id, FUNDED)) })
  }
  await close()
  return payers
}

async function startTwoServers(): Promise<Cluster> {
  const binaries = findPostgres()
  if (binaries === undefined) {
    throw new Error(
      '--failover needs the programs of a PostgreSQL server, pg_basebackup among them.',
    )
  }
  return startCluster({ binaries, synchronous: !asynchronous })
}

async function askWhileKilling(
  { urls, killOne }: Fleet,
  payers: readonly Payer[],
  servers: Cluster | undefined,
) {
  const asked: Asked[] = []
  const over = new AbortController()
  /** Waits until the process that was killed serves again, so that it gets to do some work. */
  const untilAccepted = async (): Promise<void> => {
    for (const had = asked.length; asked.length === had;) await sleep(20)
  }
  const kill = async (): Promise<void> => {
    for (let killed = 1; killed <= kills; killed++) {
      await untilAccepted()
      await sleep(200 + pick(1500))
      if (servers) {
        const gaps = await failOver(servers, untilAccepted)
        console.log(`failover ${killed}: ${gaps}; ${asked.length} accepted`)
        continue
      }
      const name = await killOne(pick)
      if (killed === Math.ceil(kills / 2) && restart) await promisify(exec)(restart)
      if (killed % 10 === 0) console.log(`${killed} kills, last ${name}; ${asked.length} accepted`)
    }
    over.abort()
  }
  const nextUrl = (): string => urls[pick(urls.length)]!
  await Promise.all([kill(), askUntil(over.signal, asked, { nextUrl, payers })])
  return asked
}

async function askWhileRolling(
  { urls, roll }: Fleet,
  payers: readonly Payer[],
  failures: string[],
): Promise<Asked[]> {
  const asked: Asked[] = []
  const over = new AbortController()
  const balancer = startBalancer(urls)
  const restart = async (): Promise<void> => {
    for (let round = 1; round <= kills; round++) {
      await roll(balancer.untilReady)
      console.log(`round ${round}: ${asked.length} accepted, ${failures.length} failed`)
    }
    over.abort()
  }
  const onFailure = (sentence: string): void => void failures.push(sentence)
  const asking = { nextUrl: balancer.next, payers, onFailure }
  await Promise.all([restart(), askUntil(over.signal, asked, asking)])
  await balancer.stop()
  return asked
}

type Asking = {
  nextUrl: () => string
  payers: readonly Payer[]
  onFailure?: (sentence: string) => void
}

function noteRefusal(error: unknown): undefined {
  refused.push(messageOf(error))
}

async function askUntil(
  over: AbortSignal,
  asked: Asked[],
  { payers, ...how }: Asking,
): Promise<void> {
  const client = async (number: number): Promise<void> => {
    for (let count = 0; !over.aborted; count++) {
      const payer = payers[(number + count) % payers.length]!
      const asking = askOnce({ ...how, payer, name: `client-${number}-${count}`, pick })
      // What was lost with the primary may be on the chain, where the next request meets it.
      const accepted = await (asynchronous ? asking.catch(noteRefusal) : asking)
      if (accepted !== undefined) asked.push(accepted)
      await sleep(pick(100))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
}

/** An asynchronous standby is cut off for a moment first, as by a network that fails as well. */
async function failOver(servers: Cluster, untilAccepted: () => Promise<void>): Promise<string> {
  if (asynchronous) {
    servers.cutStandby()
    await sleep(LAG_MS)
  }
  const killedAt = performance.now()
  const since = (): string => `${((performance.now() - killedAt) / 1000).toFixed(2)} s`
  await servers.killPrimary()
  await servers.promote()
  const promoted = since()
  await untilAccepted()
  const accepted = since()
  await servers.rebuild()
  return `the standby writes after ${promoted}, the next request is accepted after ${accepted}`
}

/** What was accepted, and is in no record since. */
async function describeLoss(asked: readonly Asked[]): Promise<string> {
  const gone = asked.filter(({ isGone }) => isGone)
  const counts = Object.entries(Object.groupBy(gone, ({ act }) => act))
  const acts = counts.map(([act, some]) => `${some.length} ${act}s`).join(', ')
  return (
    `lost with the primary: ${gone.length} of ${asked.length} accepted (${acts || 'none'}); ` +
    `${refused.length} requests were refused afterwards, such as ${refused[0] ?? 'none'}`
  )
}

/** Asks whoever is up. */
async function read(urls: readonly string[], path: string, key: string): Promise<unknown> {
  for (let round = 0; round < 600; round++) {
    const answer = await send(`${urls[round % urls.length]}${path}`, {
      headers: { 'x-api-key': key },
    })
    if (answer?.status === 200) return answer.body
    if (answer?.status === 404) return undefined
    await sleep(200)
  }
  throw new Error(`nobody answered ${path}`)
}

async function statusOf(urls: readonly string[], asked: Asked): Promise<string> {
  const path = asked.act === 'payment' ? '/api/transactions' : PATHS[asked.act]
  const body = (await read(urls, `${path}/${asked.id}`, asked.payer.apiKey)) as
    { status?: string; data?: { status: string } } | undefined
  if (body === undefined) asked.isGone = true
  return body?.status ?? body?.data?.status ?? 'in no record'
}

async function untilSettled(urls: readonly string[], asked: readonly Asked[]): Promise<void> {
  const endsAt = performance.now() + (asynchronous ? SETTLE_MS / 5 : SETTLE_MS)
  for (const one of asked) {
    while (OPEN.has(await statusOf(urls, one))) {
      if (performance.now() > endsAt) {
        if (asynchronous) return
        throw new Error(`${one.key} is open after 5 minutes`)
      }
      await sleep(500)
    }
  }
}

/** Each is told as done, and there are no records of anything else. */
async function compareRecords(
  urls: readonly string[],
  { asked, payers }: { asked: readonly Asked[]; payers: readonly Payer[] },
): Promise<string[]> {
  const wrongs: string[] = []
  for (const one of asked) {
    const status = await statusOf(urls, one)
    const done = one.act === 'payment' ? 'completed' : 'complete'
    if (status !== done) wrongs.push(`${one.key}: the ${one.act} ${one.id} is ${status}`)
  }
  for (const payer of payers) {
    const path = '/api/transactions?type=settlement&limit=1'
    const { total } = (await read(urls, path, payer.apiKey)) as { total: number }
    const mine = asked.filter((one) => one.act === 'payment' && one.payer === payer).length
    if (total !== mine) {
      wrongs.push(`user ${payer.userId} has ${total} records for ${mine} payments`)
    }
  }
  return wrongs
}

function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
  return callRpc({ url: chain.url, method, params })
}
