import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Environment } from '../../base/config.ts'
import { BaseError, ImpossibleError } from '../../base/errors.ts'
import { makeFolder } from '../../base/lock.ts'
import { SCOPES, type Dialect, type Scope } from '../../domain/access.ts'
import {
  createApiKey,
  hashOfKey,
  readApiKey,
  shownOfKey,
  type RandomBytes,
} from '../../domain/api-keys.ts'
import { LEDGER_DECIMALS, parseAmount } from '../../domain/money.ts'
import { problemOfPassword } from '../../domain/passwords.ts'
import type { Db } from '../database/database.ts'
import { post } from '../ledger/ledger.ts'
import { countWallets, insertWallet, listWallets } from '../ledger/wallets.ts'
import { findApiKeyState, insertApiKey, revokeApiKeysNamed } from './api-keys.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { findUserByName, insertUser, replacePassword, type User } from './users.ts'

/** What the sandbox prints and writes into ready.json. */
export type DemoAccounts = {
  groupA: { apiKey: string; nestedApiKey: string }
  groupB: { apiKey: string; username: string; password: string; userId: number }
  admin: { apiKey: string; username: string; password: string }
}

/**
 * Ensures at each start that the sandbox has its own users and keys. The database has only hashes,
 * so the secrets are in the data folder. Those that are missing there are generated again.
 */
export async function ensureDemoAccounts(options: {
  db: Db
  dataFolder: string
  environment: Environment
  randomBytes: RandomBytes
}): Promise<DemoAccounts> {
  const { db, dataFolder, environment, randomBytes } = options
  if (environment !== 'sandbox') throw new NoDemoHereError(environment)
  const secrets = await replaceRevoked(db, readSecrets(dataFolder) ?? {}, randomBytes)
  // First the file: a start that is cut short here goes on with the same secrets the next time.
  writeSecrets(dataFolder, secrets)
  // It takes its time, so it is done before anything is locked.
  const hashes = {
    password: await newHashOf(db, DEMO_USER, secrets.password),
    adminPassword: await newHashOf(db, DEMO_ADMIN, secrets.adminPassword),
  }
  const userId = await db.transaction().execute((open) => ensureRows(open, secrets, hashes))
  const { password, adminPassword, apiKey, nestedApiKey, adminApiKey } = secrets
  return {
    groupA: { apiKey, nestedApiKey },
    groupB: { apiKey, username: DEMO_USER, password, userId },
    admin: { apiKey: adminApiKey, username: DEMO_ADMIN, password: adminPassword },
  }
}

const DEMO_USER = 'demo'
const DEMO_ADMIN = 'demo-admin'
const KEY_NAMES = ['apiKey', 'nestedApiKey', 'adminApiKey'] as const

const PASSWORD_NAMES = ['password', 'adminPassword'] as const

type Secrets = Record<(typeof PASSWORD_NAMES)[number] | (typeof KEY_NAMES)[number], string>

type Hashes = Record<(typeof PASSWORD_NAMES)[number], string | undefined>

/** Undefined: the user is there with this password. */
async function newHashOf(db: Db, username: string, password: string): Promise<string | undefined> {
  const found = await findUserByName(db, username)
  if (found && (!found.isDemo || (await verifyPassword(found.passwordHash, password)))) {
    return undefined
  }
  return hashPassword(password)
}

async function ensureRows(db: Db, secrets: Secrets, hashes: Hashes): Promise<number> {
  const scopes = SCOPES.filter((scope) => scope !== 'admin')
  const { password, adminPassword } = hashes
  const user = await ensureUser(db, { username: DEMO_USER, scopes, newHash: password })
  const admin = await ensureUser(db, {
    username: DEMO_ADMIN,
    scopes: ['admin'],
    newHash: adminPassword,
  })
  await ensureKey(db, { user, name: 'demo', dialect: 'flat', text: secrets.apiKey })
  await ensureKey(db, { user, name: 'demo nested', dialect: 'nested', text: secrets.nestedApiKey })
  await ensureKey(db, { user: admin, name: 'admin', dialect: 'flat', text: secrets.adminApiKey })
  await ensureDemoMoney(db, user.id)
  return user.id
}

async function ensureUser(
  db: Db,
  wanted: { username: string; scopes: readonly Scope[]; newHash: string | undefined },
): Promise<User> {
  const { username, scopes, newHash: passwordHash } = wanted
  const found = await findUserByName(db, username)
  if (found?.isDemo === false) throw new DemoNameTakenError(username)
  if (found) {
    if (passwordHash !== undefined) await replacePassword(db, { userId: found.id, passwordHash })
    return found
  }
  if (passwordHash === undefined) throw new ImpossibleError('users are not deleted')
  return insertUser(db, { username, passwordHash, scopes, isDemo: true })
}

async function ensureKey(
  db: Db,
  wanted: { user: User; name: string; dialect: Dialect; text: string },
): Promise<void> {
  const { user, name, dialect, text } = wanted
  const sha256 = hashOfKey(text)
  if (await findApiKeyState(db, sha256)) return
  await revokeApiKeysNamed(db, { userId: user.id, name })
  const { id: userId, scopes } = user
  await insertApiKey(db, { userId, name, sha256, shown: shownOfKey(text), scopes, dialect })
}

/** A key that somebody has revoked stays so; ready.json must not name it. */
async function replaceRevoked(
  db: Db,
  known: Partial<Secrets>,
  randomBytes: RandomBytes,
): Promise<Secrets> {
  const secrets = {} as Secrets
  for (const name of PASSWORD_NAMES) secrets[name] = known[name] ?? createPassword(randomBytes)
  for (const name of KEY_NAMES) {
    const text = known[name]
    const state = text === undefined ? undefined : await findApiKeyState(db, hashOfKey(text))
    secrets[name] =
      text === undefined || state?.revokedAt
        ? createApiKey({ environment: 'sandbox', randomBytes }).text
        : text
  }
  return secrets
}

function createPassword(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(18)).toString('base64url')
}

/** Undefined where there is no such file, or somebody has made another of it. */
function readSecrets(dataFolder: string): Partial<Secrets> | undefined {
  try {
    const found = JSON.parse(readFileSync(fileIn(dataFolder), 'utf8')) as Record<string, unknown>
    const secrets: Partial<Secrets> = {}
    for (const name of PASSWORD_NAMES) {
      const password = found[name]
      if (typeof password !== 'string') continue
      if (problemOfPassword({ username: DEMO_USER, password }) === undefined) {
        secrets[name] = password
      }
    }
    for (const name of KEY_NAMES) {
      const text = found[name]
      if (typeof text !== 'string') continue
      const form = readApiKey(text)
      if (form.kind === 'key' && form.environment === 'sandbox') secrets[name] = text
    }
    return secrets
  } catch {
    return undefined
  }
}

function writeSecrets(dataFolder: string, secrets: Secrets): void {
  makeFolder(dataFolder, 0o700)
  const file = fileIn(dataFolder)
  writeFileSync(`${file}.new`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  // The mode above counts for a new file only.
  chmodSync(`${file}.new`, 0o600)
  renameSync(`${file}.new`, file)
}

function fileIn(dataFolder: string): string {
  return join(dataFolder, 'demo.json')
}

class NoDemoHereError extends BaseError {
  constructor(environment: Environment) {
    super(`Demo accounts belong to the sandbox, and this is ${environment}. Add users instead.`, {
      code: 'no_demo_here',
    })
  }
}

class DemoNameTakenError extends BaseError {
  constructor(username: string) {
    super(
      `A user named ${username} is not a demo account, so the sandbox cannot use its ` +
        'name. Use another database for the sandbox.',
      { code: 'demo_name_taken', details: { username } },
    )
  }
}

/**
 * Puts play money into the wallets of the sandbox's user, once. The user may have moved it since,
 * and opened other wallets.
 */
export async function ensureDemoMoney(db: Db, userId: number): Promise<void> {
  if ((await countWallets(db, userId)) < DEPOSITS.length) {
    await insertWallet(db, { userId, description: 'Second wallet' })
  }
  const newest = await listWallets(db, userId, { size: 100 })
  for (const [index, wallet] of newest.toReversed().slice(0, DEPOSITS.length).entries()) {
    await post(db, {
      kind: 'deposit',
      subject: `demo:${wallet.id}`,
      from: { system: 'bank' },
      to: { wallet: wallet.id },
      amount: parseAmount({ text: DEPOSITS[index] ?? '', decimals: LEDGER_DECIMALS }),
      currency: wallet.currency,
    })
  }
}

const DEPOSITS: readonly string[] = ['1000000', '250000']
