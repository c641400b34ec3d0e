import { randomBytes, randomUUID } from 'node:crypto'

import { sql } from 'kysely'

import type { Minting } from '../../src/api/group-a/minting.ts'
import { solvencyEndpoint } from '../../src/api/group-b/solvency.ts'
import { createIdempotently } from '../../src/api/idempotently.ts'
import { groupAEndpoints } from '../../src/app/group-a.ts'
import type { Mint, Payment, WalletTransfer } from '../../src/domain/ledger.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { createMint } from '../../src/ledger/mints.ts'
import type { LedgerContext } from '../../src/ledger/context.ts'
import { createPayment } from '../../src/ledger/payments.ts'
import { transferBetween } from '../../src/ledger/wallet-transfers.ts'
import type { Db } from '../../src/store/database.ts'
import { post } from '../../src/store/ledger.ts'
import type { User } from '../../src/store/users.ts'
import { insertWallet, mainWallet } from '../../src/store/wallets.ts'
import { callerOf, makeUser } from './access.ts'
import { startApi, type Api, type ApiAnswer } from './api.ts'
import { createTestClock } from './clock.ts'
import { freshDatabase } from './database.ts'

export const DOLLAR = 1_000_000n
export const TOKEN = `0x${'5d'.repeat(20)}` as const

/** What a ledger stands on in a test; its stablecoin is a name without a chain. */
export function ledgerOf(parts: Partial<LedgerContext> = {}): LedgerContext {
  return {
    clock: createTestClock(),
    randomBytes,
    stablecoin: { token: TOKEN, chainId: 31337, profile: 'memo' },
    ...parts,
  }
}

let deposits = 0

/** Money from outside, which the bank owes from then on. */
export async function deposit(db: Db, wallet: bigint, amount: bigint): Promise<void> {
  deposits += 1
  const [from, to] = [{ system: 'bank' }, { wallet }] as const
  const posting = { kind: 'deposit', subject: `test:${deposits}`, currency: 'USD' } as const
  await post(db, { ...posting, from, to, amount })
}

/** The user's main wallet with money, and another one without. */
export async function makeWallets(
  db: Db,
  userId: number,
  amount = 100n * DOLLAR,
): Promise<{ main: bigint; second: bigint }> {
  const { id: main } = await mainWallet(db, userId)
  const { id: second } = await insertWallet(db, { userId, description: 'Savings' })
  await deposit(db, main, amount)
  return { main, second }
}

export async function makePayment(db: Db, userId: number, amount = DOLLAR): Promise<Payment> {
  const { main: walletId } = await makeWallets(db, userId)
  return db.transaction().execute((open) =>
    createPayment(open, {
      userId,
      walletId,
      amount,
      currency: 'USD',
      destination: { name: 'Ada Lovelace', addressLine1: '12 St James Square' },
      beneficiaryEmail: undefined,
    }),
  )
}

export async function makeWalletTransfer(db: Db, userId: number): Promise<WalletTransfer> {
  const { main: walletId, second: toWalletId } = await makeWallets(db, userId)
  const sides = { userId, walletId, toWalletId }
  const request = { kind: 'wallet', ...sides, amount: DOLLAR, currency: 'USD' } as const
  return db.transaction().execute((open) => transferBetween(ledgerOf(), open, request))
}

/** A memo that no other id has. */
export function referenceOf(id: string): Hex {
  return `0x${id.replaceAll('-', '').padStart(64, '0')}`
}

export async function makeMint(db: Db, userId: number): Promise<Mint> {
  const { main: walletId } = await makeWallets(db, userId)
  const id = randomUUID()
  return db.transaction().execute((open) =>
    createMint(ledgerOf(), open, {
      kind: 'mint',
      id,
      userId,
      walletId,
      amount: DOLLAR,
      currency: 'USD',
      chain: 'ETH',
      address: `0x${'aa'.repeat(20)}`,
      addressId: undefined,
      reference: referenceOf(id),
      transactionHash: `0x${'ab'.repeat(32)}`,
    }),
  )
}

/** All that is in the ledger, and whether the balances are what the postings make of them. */
export async function readLedger(db: Db): Promise<{ sum: bigint; astray: number }> {
  const { rows } = await sql<{ sum: string; astray: bigint }>`
    with moved as (
      select account, sum(amount) as balance from (
        select from_account as account, -amount as amount from postings
        union all select to_account, amount from postings
      ) as legs group by account
    )
    select (select coalesce(sum(balance), 0)::text from accounts) as sum,
      (select count(*) from accounts full join moved on moved.account = accounts.id
        where coalesce(moved.balance, 0) is distinct from accounts.balance) as astray
    `.execute(db)
  return { sum: BigInt(rows[0]!.sum), astray: Number(rows[0]!.astray) }
}

export type MoneyApi = {
  db: Db
  alice: User
  bob: User
  main: bigint
  second: bigint
  api: Api
  /** Alice asks with a flat key, unless it is another one. */
  get: (url: string, as?: Visitor) => Promise<ApiAnswer>
  post: (url: string, body: unknown, as?: Visitor) => Promise<ApiAnswer>
  balanceOf: (wallet: bigint) => Promise<string>
}

export type Visitor = 'alice' | 'alice nested' | 'bob' | 'admin'

/** Group A over HTTP, with money in Alice's main wallet. Nothing mints unless it is given. */
export async function startMoneyApi(
  parts: {
    ledger?: LedgerContext
    minting?: Minting<never>
    /** False: no wire can be sent. */
    hasBank?: boolean
    /** What requests work through. */
    through?: (db: Db) => Db
  } = {},
): Promise<MoneyApi> {
  const { db } = await freshDatabase()
  const alice = await makeUser(db, { username: 'alice' })
  const bob = await makeUser(db, { username: 'bob' })
  const wallets = await makeWallets(db, alice.id)
  const served = parts.through?.(db) ?? db
  const ledger = parts.ledger ?? ledgerOf()
  const minting = parts.minting ?? noMinting
  const bank = parts.hasBank === false ? undefined : { kick: () => undefined }
  const callers: Record<string, ReturnType<typeof callerOf>> = {
    alice: callerOf(alice),
    'alice nested': callerOf(alice, { dialect: 'nested' }),
    bob: callerOf(bob),
    admin: callerOf(bob, { scopes: ['admin'] }),
  }
  const api = await startApi({
    endpoints: [...groupAEndpoints(ledger, minting, bank), solvencyEndpoint(ledger)],
    hooks: {
      db: served,
      authenticate: (headers) => Promise.resolve(callers[String(headers['x-api-key'])]!),
      idempotently: createIdempotently({ db: served }),
    },
  })
  const keyOf = (as: Visitor = 'alice') => ({ 'x-api-key': as })
  return {
    db,
    alice,
    bob,
    ...wallets,
    api,
    get: (url, as) => api.send({ url, headers: keyOf(as) }),
    post: (url, body, as) => api.send({ method: 'POST', url, body, headers: keyOf(as) }),
    async balanceOf(wallet) {
      const { body } = await api.send({ url: `/v1/wallets/${wallet}`, headers: keyOf() })
      return (body['data'] as { balance: string }).balance
    },
  }
}

const refuse = () => Promise.reject(new Error('nothing is minted here'))
export const noMinting: Minting<never> = { prepare: refuse, accept: refuse, kick: () => undefined }

/** What users were told, in the order in which they were. */
export async function listNotificationBodies(db: Db): Promise<Record<string, unknown>[]> {
  const { rows } = await sql<{ body: Record<string, unknown> }>`
    select body from notifications order by user_id, sequence`.execute(db)
  return rows.map(({ body }) => body)
}
