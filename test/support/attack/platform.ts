import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startAnvil } from '../../../src/chain/anvil.ts'
import { SCOPES } from '../../../src/domain/access.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { makeKey, makeUser } from '../access.ts'
import { startFleet } from '../chaos/fleet.ts'
import { emptyDatabaseUrl } from '../database.ts'
import { DOLLAR, makeWallets } from '../money.ts'

/** The programs that are attacked: `serve` and `work` on PostgreSQL, or one `up`. */
export type Platform = {
  url: string
  payers: Payer[]
  adminKey: string
  stop: () => Promise<void>
}

/** A key of a user of its own, and two wallets. */
export type Payer = { key: string; from: string; to: string }

export async function startPlatform(options: { payers: number }): Promise<Platform> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-attack-'))
  const chain = await startAnvil({
    folder: join(folder, 'chain'),
    blockMs: 500,
    mnemonic: 'test test test test test test test test test test test junk',
  })
  const stops = [
    async () => rmSync(folder, { recursive: true, force: true }),
    async () => chain.stop(),
  ]
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).toReversed()) await one()
  }
  try {
    const databaseUrl = await emptyDatabaseUrl()
    const accounts = await makeAccounts({ databaseUrl, folder, payers: options.payers })
    const fleet = await startFleet({
      roles: databaseUrl ? ['serve', 'work'] : ['up'],
      folder,
      env: {
        ETH_RPC_URL: chain.url,
        QUITTANCE_CONFIRMATIONS: '2',
        QUITTANCE_LOG_LEVEL: 'error',
        ...(databaseUrl && { DATABASE_URL: databaseUrl }),
      },
      onEnd: () => undefined,
    })
    stops.push(fleet.stop)
    return { url: fleet.urls[0] ?? '', ...accounts, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function makeAccounts(options: {
  databaseUrl: string | undefined
  folder: string
  payers: number
}): Promise<Pick<Platform, 'payers' | 'adminKey'>> {
  const own = join(options.folder, 'up-0')
  mkdirSync(own)
  const { databaseUrl: url } = options
  const { db, close } = await openDatabase(url ? { url } : { folder: join(own, 'database') })
  await migrate(db)
  const payers: Payer[] = []
  for (let count = 0; count < options.payers; count++) {
    const user = await makeUser(db, { username: `payer-${count}` })
    const { text: key } = await makeKey(db, { user })
    const wallets = await makeWallets(db, user.id, 1_000_000n * DOLLAR)
    payers.push({ key, from: String(wallets.main), to: String(wallets.second) })
  }
  const admin = await makeUser(db, { username: 'attack-admin', scopes: SCOPES })
  const { text: adminKey } = await makeKey(db, { user: admin })
  await close()
  return { payers, adminKey }
}
