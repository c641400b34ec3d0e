import { join } from 'node:path'

import type { ReadyFacts } from '../../../src/base/ready.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { ensureDemoMoney } from '../../../src/store/access/demo-accounts.ts'
import { openDatabase } from '../../../src/store/database/database.ts'
import { migrate } from '../../../src/store/database/migrate.ts'
import { makeKey, makeUser, PASSWORD } from '../../fixtures/api/access.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { runProgram } from '../../fixtures/program.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'
import { fillDataFolder } from '../../fixtures/store/prepared-data.ts'
import type { FuzzOptions } from './fuzz.ts'

export type FuzzTarget = {
  facts: ReadyFacts
  url: string
  callers: FuzzOptions['callers']
  /** Ends the program and says how it ended, with all that it logged. */
  stop: () => Promise<{ code: unknown; stderr: string }>
}

/** The whole program, with accounts that have money and keys enough for the limits. */
export async function startFuzzTarget(options: { users: number }): Promise<FuzzTarget> {
  const folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const databaseUrl = await emptyDatabaseUrl()
  const callers = await makeCallers({ data, databaseUrl, users: options.users })
  const program = runProgram(['up'], {
    QUITTANCE_DATA: data,
    DATABASE_URL: databaseUrl,
    PORT: '0',
    QUITTANCE_BLOCK_MS: '200',
    QUITTANCE_TRUST_PROXY: '127.0.0.1',
  })
  const facts = await program.untilReady()
  const url = facts.url ?? ''
  for (const key of callers.keys.slice(0, FUNDED)) await fund({ url, key, rpcUrl: facts.rpcUrl })
  return {
    facts,
    url,
    callers,
    async stop() {
      program.kill('SIGTERM')
      const code = await program.ended
      folder.remove()
      return { code, stderr: program.output().stderr }
    },
  }
}

const FUNDED = 8

async function makeCallers(options: {
  data: string
  databaseUrl: string | undefined
  users: number
}): Promise<FuzzTarget['callers']> {
  const { data, databaseUrl } = options
  fillDataFolder(data)
  const { db, close } = await openDatabase({ url: databaseUrl, folder: join(data, 'database') })
  await migrate(db)
  const keys: string[] = []
  const usernames: string[] = []
  for (let count = 0; count < options.users; count++) {
    const user = await makeUser(db, { username: `fuzz-${count}` })
    // Some speak the other dialect of Group A, and some may only read a little.
    const dialect = count % 4 === 3 ? 'nested' : 'flat'
    const scopes = count % 8 === 7 ? (['transactions:read'] as const) : user.scopes
    const { text } = await makeKey(db, { user, dialect, scopes })
    await ensureDemoMoney(db, user.id)
    keys.push(text)
    usernames.push(user.username)
  }
  await close()
  return { keys, usernames, password: PASSWORD }
}

async function fund(options: { url: string; key: string; rpcUrl: string }): Promise<void> {
  const headers = { 'x-api-key': options.key }
  const answer = await fetch(`${options.url}/api/blockchain/balance`, { headers })
  const { address } = (await answer.json()) as { address?: string }
  if (address === undefined) return
  const params = [address, '0x56bc75e2d63100000']
  await callRpc({ url: options.rpcUrl, method: 'anvil_setBalance', params })
}
