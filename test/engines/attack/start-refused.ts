import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { encryptKeystoreJson } from 'ethers'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { startAnvil } from '../../../src/chain/embedded/anvil.ts'
import { openDatabase } from '../../../src/store/database/database.ts'
import { migrate } from '../../../src/store/database/migrate.ts'
import { account } from '../../fixtures/chain/deployment.ts'
import { startWeb3Signer } from '../../fixtures/chain/web3signer.ts'
import { runProgram } from '../../fixtures/program.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'
import { startFreezingProxy } from '../../fixtures/store/freezing-proxy.ts'
import { ask, wrongsIn } from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'

const PHRASE = 'test test test test test test test test test test test junk'
const STARTS_WITHIN_MS = 60_000

type Env = Record<string, string>

/** What stands there, and all that production needs to start. */
type Place = { env: Env; folder: string; stops: Array<() => Promise<void>> }

/** An operator's mistakes, by which anybody could sign or read: production must not start. */
export const startRefused: Attack = {
  name: 'start-refused',
  about: 'starts production on well-known signers and passwords, and on one provider alone',
  needsServer: true,
  async run() {
    const place = await prepare()
    try {
      const results = [
        await start(place, { tried: 'keys of its own, on two providers', env: {} }),
        await start(place, { tried: 'no signer', env: { QUITTANCE_SIGNER: '' }, refusal: SECRETS }),
      ]
      for (const [tried, QUITTANCE_SIGNER] of Object.entries(await knownSigners(place))) {
        results.push(await start(place, { tried, env: { QUITTANCE_SIGNER }, refusal: SECRETS }))
      }
      for (const [tried, DATABASE_URL] of Object.entries(knownPasswords(place.env))) {
        results.push(await start(place, { tried, env: { DATABASE_URL }, refusal: SECRETS }))
      }
      const [ETH_RPC_URL = ''] = place.env['ETH_RPC_URL']?.split(',') ?? []
      const alone = { tried: 'one provider', env: { ETH_RPC_URL }, refusal: ALONE }
      results.push(await start(place, alone))
      return results
    } finally {
      for (const stop of place.stops.toReversed()) await stop()
    }
  },
}

const SECRETS = /default secrets/
const ALONE = /QUITTANCE_TRUST_ONE_PROVIDER/

async function prepare(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-attack-'))
  const anvil = await startAnvil({ folder: join(folder, 'chain'), blockMs: 500, mnemonic: PHRASE })
  const second = await startFreezingProxy(anvil.url)
  const url = (await emptyDatabaseUrl()) ?? ''
  const { db, close } = await openDatabase({ url })
  await migrate(db)
  await close()
  const stops = [
    async () => rmSync(folder, { recursive: true, force: true }),
    () => anvil.stop(),
    () => second.stop(),
  ]
  const place: Place = { folder, stops, env: {} }
  place.env = {
    PORT: '0',
    QUITTANCE_ENVIRONMENT: 'production',
    QUITTANCE_LOG_LEVEL: 'error',
    ETH_RPC_URL: `${anvil.url},${second.url.replace(/\/$/, '')}`,
    DATABASE_URL: url,
    QUITTANCE_SIGNER: await keystoreOf(place, generatePrivateKey()),
  }
  return place
}

/** Each is a way to keep a key, and the key is one that everybody has. */
async function knownSigners(place: Place): Promise<Record<string, string>> {
  const keyAt = (index: number): Hex =>
    `0x${Buffer.from(account(index).getHdKey().privateKey ?? []).toString('hex')}`
  const seed = join(place.folder, 'seed')
  writeFileSync(seed, `${PHRASE}\n`)
  const key = keyAt(5)
  const web3Signer = await startWeb3Signer({ keys: [key] })
  place.stops.push(() => web3Signer.stop())
  const { address } = privateKeyToAccount(key)
  return {
    'the seed of anvil in a file': `seed-file:${seed}`,
    'an account of anvil in a keystore': await keystoreOf(place, keyAt(3)),
    'an account of anvil behind a Web3Signer': `web3signer:${web3Signer.url}#${address}`,
    'the private key 1 in a keystore': await keystoreOf(place, `0x${'1'.padStart(64, '0')}`),
  }
}

async function keystoreOf({ folder }: Place, privateKey: Hex): Promise<string> {
  const { address } = privateKeyToAccount(privateKey)
  // Fast to open.
  const scrypt = { N: 1024, r: 8, p: 1 }
  const [file, password] = [join(folder, `${address}.json`), join(folder, `${address}.password`)]
  writeFileSync(file, await encryptKeystoreJson({ address, privateKey }, address, { scrypt }))
  writeFileSync(password, address)
  return `keystore:${file}#${password}`
}

function knownPasswords({ DATABASE_URL = '' }: Env): Record<string, string> {
  const [before, query] = [new URL(DATABASE_URL), new URL(DATABASE_URL)]
  before.password = 'postgres'
  query.searchParams.set('password', 'changeme')
  return {
    'the password postgres': before.href,
    'a default password after the ?': query.href,
  }
}

/** Without a refusal it must start: else the others would be refused for some other reason. */
async function start(
  { env, folder }: Place,
  { tried, env: own, refusal }: { tried: string; env: Env; refusal?: RegExp },
): Promise<AttackResult> {
  const data = mkdtempSync(join(folder, 'data-'))
  const program = runProgram(['serve'], { ...env, ...own, QUITTANCE_DATA: data })
  const late = setTimeout(() => program.kill('SIGKILL'), STARTS_WITHIN_MS)
  const ready = program.untilReady().catch(() => undefined)
  const facts = await Promise.race([ready, program.ended.then(() => undefined)])
  const serves = facts?.url && (await ask(facts.url, { path: '/healthz', key: '' })).status === 200
  program.kill('SIGTERM')
  const code = await program.ended
  clearTimeout(late)
  const { stdout, stderr } = program.output()
  const shown = stderr.trim().split('\n').at(-1)?.slice(0, 160) ?? ''
  const leaks = ['postgres@', 'changeme', PHRASE].filter((one) =>
    `${stdout}${stderr}`.includes(one),
  )
  return {
    tried: `production on ${tried}`,
    count: 1,
    outcome: serves ? 'it serves' : `exit code ${code}: ${shown}`,
    wrong: refusal
      ? wrongsIn([
          [Boolean(serves), 'it started'],
          [!serves && code !== 2, `exit code ${code} in place of 2`],
          [!serves && !refusal.test(stderr), 'it was refused for another reason'],
          [leaks.length > 0, 'it printed the secret'],
        ])
      : wrongsIn([[!serves, 'it does not start at all']]),
  }
}
