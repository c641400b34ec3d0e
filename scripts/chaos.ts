/**
 * Pays through real processes while they are killed with kill -9 at random, and then compares the
 * chain with the records: `npm run chaos -- --kills 100`. On DATABASE_URL it runs three `serve` and
 * three `work`, else one `up` on the embedded database. `--restart COMMAND` is run once, half way:
 * it may restart the database server.
 */
import { exec } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'

import { toHex } from 'viem'

import { startAnvil } from '../src/chain/anvil.ts'
import { connectDeployer } from '../src/chain/connect-deployer.ts'
import { NETWORKS } from '../src/chain/networks.ts'
import { callRpc } from '../src/chain/rpc.ts'
import { openDatabase } from '../src/store/database.ts'
import { migrate } from '../src/store/migrate.ts'
import { makeKey, makeUser } from '../test/support/access.ts'
import { startFleet, type Fleet } from '../test/support/chaos/fleet.ts'
import { askOnce, send, type Asked } from '../test/support/chaos/payer.ts'
import { dropOwnDatabases, emptyDatabaseUrl } from '../test/support/database.ts'
import { account, forgetfulRecords } from '../test/support/deployment.ts'
import { createRandom } from '../test/support/random.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    restart: { type: 'string' },
  },
})
const KILLS = Number(values.kills)
const USERS = 8
const CLIENTS = 8
const MNEMONIC = 'test test test test test test test test test test test junk'

const { below: pick } = createRandom(`chaos ${values.seed}`)
const folder = mkdtempSync(join(tmpdir(), 'quittance-chaos-'))
const chain = await startAnvil({ folder: join(folder, 'chain'), blockMs: 500, mnemonic: MNEMONIC })
let fleet: Fleet | undefined
try {
  await deploy()
  const { env, keys } = await prepare()
  const roles = env['DATABASE_URL'] ? SHARED_ROLES() : (['up'] as const)
  fleet = await startFleet({ roles, folder, env })
  const startedAt = performance.now()
  const asked = await payWhileKilling(fleet, keys)
  await untilSettled(fleet.urls, keys)
  const seconds = (performance.now() - startedAt) / 1000
  const wrongs = await compare(fleet.urls, asked, keys)
  for (const wrong of wrongs) console.log(wrong)
  const rate = (asked.length / seconds).toFixed(1)
  console.log(
    `${asked.length} payments, ${KILLS} kills of ${roles.length} processes, ` +
      `${seconds.toFixed(0)} s, ${rate} payments a second, ${wrongs.length} wrong`,
  )
  process.exitCode = wrongs.length === 0 && asked.length > 0 ? 0 : 1
} finally {
  await fleet?.stop()
  await chain.stop()
  await dropOwnDatabases()
  rmSync(folder, { recursive: true, force: true })
}

function SHARED_ROLES() {
  return ['serve', 'serve', 'serve', 'work', 'work', 'work'] as const
}

async function deploy(): Promise<void> {
  const minter = { address: account(0).address, allowance: 1n }
  const deployer = await connectDeployer(
    { network: NETWORKS.localhost, rpcUrls: [chain.url], minter },
    { records: forgetfulRecords, waiting: { pollIntervalMs: 50 } },
  )
  await deployer.execute()
}

/** Users with money and a key each, on a database that all processes share. */
async function prepare(): Promise<{ env: Record<string, string>; keys: string[] }> {
  const url = await emptyDatabaseUrl()
  mkdirSync(join(folder, 'up-0'))
  const database = await openDatabase(url ? { url } : { folder: join(folder, 'up-0', 'database') })
  await migrate(database.db)
  const keys: string[] = []
  for (let place = 0; place < USERS; place++) {
    const user = await makeUser(database.db)
    keys.push((await makeKey(database.db, { user })).text)
    const { address } = account(user.id)
    await rpc('anvil_setBalance', [address, toHex(10n ** 24n)])
  }
  await database.close()
  const env = { ETH_RPC_URL: chain.url, QUITTANCE_CONFIRMATIONS: '2', QUITTANCE_LOG_LEVEL: 'fatal' }
  return { keys, env: { ...env, ...(url && { DATABASE_URL: url }) } }
}

async function payWhileKilling({ urls, killOne }: Fleet, keys: readonly string[]) {
  const asked: Asked[] = []
  const over = new AbortController()
  const client = async (number: number): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count++) {
      const apiKey = keys[(number + count) % keys.length] ?? ''
      asked.push(await askOnce({ urls, apiKey, name: `client-${number}-${count}`, pick }))
      await sleep(pick(100))
    }
  }
  const kill = async (): Promise<void> => {
    for (let killed = 1; killed <= KILLS; killed++) {
      await sleep(200 + pick(1500))
      // On a busy machine they start more slowly than they are killed, and nothing would be paid.
      for (const had = asked.length; asked.length === had;) await sleep(50)
      const name = await killOne(pick)
      if (killed === Math.ceil(KILLS / 2) && values.restart) await promisify(exec)(values.restart)
      if (killed % 10 === 0) console.log(`${killed} kills, last ${name}; ${asked.length} accepted`)
    }
    over.abort()
  }
  await Promise.all([kill(), ...Array.from({ length: CLIENTS }, (_, number) => client(number))])
  return asked
}

/** Asks whoever is up. */
async function ask(urls: readonly string[], path: string, key: string): Promise<unknown> {
  for (let round = 0; round < 600; round++) {
    const answer = await send(`${urls[round % urls.length]}${path}`, {
      headers: { 'x-api-key': key },
    })
    if (answer?.status === 200) return answer.body
    await sleep(200)
  }
  throw new Error(`nobody answered ${path}`)
}

async function untilSettled(urls: readonly string[], keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    for (const status of ['pending', 'processing']) {
      for (let round = 0; ; round++) {
        const path = `/api/transactions?status=${status}&limit=1`
        const { total } = (await ask(urls, path, key)) as { total: number }
        if (total === 0) break
        if (round > 600) throw new Error(`${total} transactions are ${status} after 5 minutes`)
        await sleep(500)
      }
    }
  }
}

/** Every accepted payment is paid once, and nothing else is; each record tells the truth. */
async function compare(urls: readonly string[], asked: readonly Asked[], keys: readonly string[]) {
  const wrongs: string[] = []
  for (const { key, apiKey, payee, wei, transactionId } of asked) {
    const balance = BigInt(String(await rpc('eth_getBalance', [payee, 'latest'])))
    const path = `/api/transactions/${transactionId}`
    const { status } = (await ask(urls, path, apiKey)) as { status: string }
    const owed = status === 'completed' ? wei : 0n
    if (balance !== owed) wrongs.push(`${key}: ${status}, owed ${owed} wei, paid ${balance}`)
    if (status !== 'completed') wrongs.push(`${key}: ${transactionId} is ${status}`)
  }
  for (const [index, apiKey] of keys.entries()) {
    const { total } = (await ask(urls, '/api/transactions?limit=1', apiKey)) as { total: number }
    const mine = asked.filter((one) => one.apiKey === apiKey).length
    if (total !== mine) wrongs.push(`user ${index + 1} has ${total} records for ${mine} requests`)
    const { address } = account(index + 1)
    const [mined, pending] = await Promise.all(
      ['latest', 'pending'].map((at) => rpc('eth_getTransactionCount', [address, at])),
    )
    if (mined !== pending) wrongs.push(`user ${index + 1} has a transaction that waits`)
    if (Number(mined) !== mine)
      wrongs.push(`user ${index + 1}: ${mine} paid, nonce ${Number(mined)}`)
  }
  return wrongs
}

function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
  return callRpc({ url: chain.url, method, params })
}
