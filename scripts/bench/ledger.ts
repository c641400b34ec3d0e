import { randomBytes } from 'node:crypto'

import { sql } from 'kysely'

import { systemClock } from '../../src/base/clock.ts'
import { messageOf } from '../../src/base/errors.ts'
import { transferBetween } from '../../src/ledger/wallet-transfers.ts'
import { insertUser } from '../../src/store/access/users.ts'
import { openDatabase, type Database, type Db } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { post } from '../../src/store/ledger/ledger.ts'
import { insertWallet, mainWallet } from '../../src/store/ledger/wallets.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { ledgerOf } from '../../test/fixtures/books/money.ts'

const TRANSFERS = Number(process.env['BENCH_TRANSFERS'] ?? 5_000)
const USERS = 32
const WALLETS = 4

/** How many transfers between wallets a second, each with its postings and its notification. */
async function main(): Promise<void> {
  const database = await openDatabase({ url: process.env['DATABASE_URL'] })
  try {
    await migrate(database.db)
    console.log(`${TRANSFERS} transfers, ${database.kind} engine, ${USERS} users`)
    const [alone, together] = [await measure(database, 1), await measure(database, 32)]
    tellRows('ledger', [
      { what: 'wallet transfers, one at a time', unit: 'a second', ours: alone },
      { what: 'wallet transfers, 32 at a time', unit: 'a second', ours: together },
    ])
    console.log(
      `${await countAstray(database.db)} balances astray, sum ${await sumOf(database.db)}`,
    )
  } finally {
    await database.close()
  }
}

async function measure({ db }: Database, callers: number): Promise<number> {
  const accounts = await Promise.all(Array.from({ length: USERS }, () => openAccount(db)))
  let left = TRANSFERS
  const startedAt = performance.now()
  const call = async (caller: number): Promise<void> => {
    for (let round = 0; left-- > 0; round++) {
      const account = accounts[(caller + round * callers) % USERS]!
      await transfer(db, account, round)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  const seconds = (performance.now() - startedAt) / 1000
  const rate = Math.round(TRANSFERS / seconds)
  console.log(`${String(callers).padStart(3)} at a time: ${rate} a second`)
  return rate
}

type Account = { userId: number; wallets: bigint[] }

async function openAccount(db: Db): Promise<Account> {
  const username = `bench-${randomBytes(8).toString('hex')}`
  const passwordHash = '$argon2id$none'
  const { id: userId } = await insertUser(db, { username, passwordHash, scopes: [] })
  const { id } = await mainWallet(db, userId)
  const wallets = [id]
  while (wallets.length < WALLETS) {
    wallets.push((await insertWallet(db, { userId, description: '' })).id)
  }
  for (const wallet of wallets) {
    const [from, to] = [{ system: 'bank' }, { wallet }] as const
    const subject = `bench:${wallet}`
    await post(db, { kind: 'deposit', subject, from, to, amount: 10n ** 13n, currency: 'USD' })
  }
  return { userId, wallets }
}

async function transfer(db: Db, { userId, wallets }: Account, round: number): Promise<void> {
  const walletId = wallets[round % WALLETS]!
  const toWalletId = wallets[(round + 1) % WALLETS]!
  const amount = BigInt(1 + (round % 1000)) * 10_000n
  const request = { kind: 'wallet', userId, walletId, toWalletId, amount, currency: 'USD' } as const
  const context = ledgerOf({ clock: systemClock })
  await db.transaction().execute((open) => transferBetween(context, open, request))
}

async function countAstray(db: Db): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`
    with moved as (
      select account, sum(amount) as balance from (
        select from_account as account, -amount as amount from postings
        union all select to_account, amount from postings
      ) as legs group by account
    )
    select count(*) from accounts left join moved on moved.account = accounts.id
    where coalesce(moved.balance, 0) <> accounts.balance`.execute(db)
  return rows[0]?.count ?? 0n
}

async function sumOf(db: Db): Promise<string> {
  const { rows } = await sql<{ sum: string }>`
    select sum(balance)::text as sum from accounts`.execute(db)
  return rows[0]?.sum ?? '0'
}

main().catch((error: unknown) => {
  console.error(messageOf(error))
  process.exitCode = 2
})
