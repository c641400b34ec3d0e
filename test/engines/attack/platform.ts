import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { ReadyFacts } from '../../../src/base/ready.ts'
import { startAnvil } from '../../../src/chain/embedded/anvil.ts'
import { SCOPES } from '../../../src/domain/access.ts'
import { openDatabase } from '../../../src/store/database/database.ts'
import { migrate } from '../../../src/store/database/migrate.ts'
import { makeKey, makeUser } from '../../fixtures/api/access.ts'
import { DOLLAR, makeWallets } from '../../fixtures/books/money.ts'
import { account } from '../../fixtures/chain/deployment.ts'
import { runProgram, type Program } from '../../fixtures/program.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'
import { fillDataFolder } from '../../fixtures/store/prepared-data.ts'
import type { Role } from '../chaos/fleet.ts'
import { createWorld, ETHER, toHex, type World } from '../sim/world.ts'

/** The programs that are attacked: `serve` and `work` on PostgreSQL, or one `up`. */
export type Platform = {
  /** Of the first that serves. */
  url: string
  members: Member[]
  payers: Payer[]
  adminKey: string
  /** The database itself, past whatever stands before it; absent: the embedded one. */
  databaseUrl: string | undefined
  chain: World & { pid: number }
  /** All that the programs have written. */
  log: () => string
  stop: () => Promise<void>
}

export type Member = { role: Role; program: Program; facts: ReadyFacts; statusUrl: string }

/** A key of a user of its own, with ether on the chain and two wallets. */
export type Payer = { key: string; address: string; from: string; to: string }

export type PlatformOptions = {
  payers: number
  /** Absent: `serve` and `work`, or `up` where there is no server. */
  roles?: readonly Role[]
  env?: Readonly<Record<string, string>>
  /** The address by which the programs reach the database, such as that of a proxy. */
  through?: (databaseUrl: string) => Promise<string>
  /** Puts contracts on the chain, and returns the settings that name them. */
  deploy?: (chain: World) => Promise<Record<string, string>>
}

export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-attack-'))
  const stops = [async () => rmSync(folder, { recursive: true, force: true })]
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).toReversed()) await one()
  }
  try {
    const anvil = await startAnvil({
      folder: join(folder, 'chain'),
      blockMs: 500,
      mnemonic: PHRASE,
    })
    stops.push(() => anvil.stop())
    const chain = { ...createWorld(anvil.url), pid: anvil.pid }
    const contracts = await options.deploy?.(chain)
    const databaseUrl = await emptyDatabaseUrl()
    const reached = databaseUrl && ((await options.through?.(databaseUrl)) ?? databaseUrl)
    const { payers: count, roles = databaseUrl ? ['serve', 'work'] : ['up'] } = options
    const accounts = await makeAccounts({ databaseUrl: reached, folder, count, chain })
    const env = {
      PORT: '0',
      QUITTANCE_STATUS_PORT: '0',
      ETH_RPC_URL: chain.url,
      QUITTANCE_CONFIRMATIONS: '2',
      QUITTANCE_LOG_LEVEL: 'error',
      ...(reached && { DATABASE_URL: reached }),
      ...contracts,
      ...options.env,
    }
    const programs = roles.map((role, place) => {
      const program = runProgram([role], {
        ...env,
        QUITTANCE_DATA: join(folder, `${role}-${place}`),
      })
      stops.push(() => end(program))
      return { role, program }
    })
    const members = await Promise.all(
      programs.map(async ({ role, program }) => {
        const facts = await program.untilReady()
        return { role, program, facts, statusUrl: facts.statusUrl ?? '' }
      }),
    )
    const url = members.find(({ facts }) => facts.url)?.facts.url ?? ''
    const log = () =>
      members.map(({ program }) => Object.values(program.output()).join('\n')).join('\n')
    return { url, members, ...accounts, databaseUrl, chain, log, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const PHRASE = 'test test test test test test test test test test test junk'

/** One that stands still ends as well. */
async function end(program: Program): Promise<void> {
  program.kill('SIGCONT')
  program.kill('SIGTERM')
  const late = setTimeout(() => program.kill('SIGKILL'), 15_000)
  await program.ended
  clearTimeout(late)
}

async function makeAccounts(options: {
  databaseUrl: string | undefined
  folder: string
  count: number
  chain: World
}): Promise<Pick<Platform, 'payers' | 'adminKey'>> {
  const { databaseUrl: url, folder, count, chain } = options
  const own = join(folder, 'up-0')
  fillDataFolder(own)
  const { db, close } = await openDatabase(url ? { url } : { folder: join(own, 'database') })
  await migrate(db)
  const payers: Payer[] = []
  for (let place = 0; place < count; place++) {
    const user = await makeUser(db, { username: `payer-${place}` })
    const { text: key } = await makeKey(db, { user })
    const wallets = await makeWallets(db, user.id, 1_000_000n * DOLLAR)
    const { address } = account(user.id)
    await chain.rpc('anvil_setBalance', [address, toHex(1_000n * ETHER)])
    payers.push({ key, address, from: String(wallets.main), to: String(wallets.second) })
  }
  const admin = await makeUser(db, { username: 'attack-admin', scopes: SCOPES })
  const { text: adminKey } = await makeKey(db, { user: admin })
  await close()
  return { payers, adminKey }
}
