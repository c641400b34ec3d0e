import { sql } from 'kysely'

import { ImpossibleError } from '../../base/errors.ts'
import type { Wallet } from '../../domain/ledger.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

/** Only the user's own; a wallet of somebody else is as unknown as one that does not exist. */
export async function findWallet(
  db: Db,
  wanted: { userId: number; id: bigint },
): Promise<Wallet | undefined> {
  return readOne<Wallet>(db)`
    ${WALLETS} where w.user_id = ${wanted.userId} and w.id = ${wanted.id}`
}

/** Every user has one, from the moment the user is made. */
export async function mainWallet(db: Db, userId: number): Promise<Wallet> {
  const wallet = await readOne<Wallet>(db)`
    ${WALLETS} where w.user_id = ${userId} and w.type = 'merchant'`
  if (!wallet) throw new ImpossibleError('the schema opens a wallet with each user')
  return wallet
}

export async function listWallets(db: Db, userId: number, page: Page): Promise<Wallet[]> {
  const wallets = await readAll<Wallet>(db)`
    ${WALLETS} where w.user_id = ${userId} ${pageOf(page, sql`w.id`)}`
  return inOrder(wallets, page)
}

export async function insertWallet(
  db: Db,
  wallet: { userId: number; description: string },
): Promise<Wallet> {
  const { rows } = await sql<{ id: bigint }>`
    insert into wallets (user_id, type, description)
    values (${wallet.userId}, 'end_user_wallet', ${wallet.description})
    returning id`.execute(db)
  const made = await findWallet(db, { userId: wallet.userId, id: rows[0]!.id })
  return made!
}

export async function countWallets(db: Db, userId: number): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) from wallets where user_id = ${userId}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** False: the wallet has drawn more than that already. Undefined: there is no such wallet. */
export async function setCreditLine(
  db: Db,
  { walletId, creditLine }: { walletId: bigint; creditLine: bigint },
): Promise<boolean | undefined> {
  const { rows } = await sql<{ isSet: boolean }>`
    with known as (
      select id, balance from accounts where wallet_id = ${walletId} and kind = 'wallet'
      for no key update
    ), changed as (
      update accounts set credit_line = ${String(creditLine)}::numeric from known
      where accounts.id = known.id and known.balance + ${String(creditLine)}::numeric >= 0
      returning accounts.id
    )
    select exists (select from changed) as "isSet" from known`.execute(db)
  return rows[0]?.isSet
}

const WALLETS = sql`
  select ${columnsOf<Wallet>()(`w.id, w.user_id, w.type, w.description, w.created_at,
    a.balance as amount, a.credit_line, a.currency`)}
  from wallets w join accounts a on a.wallet_id = w.id and a.kind = 'wallet'`
