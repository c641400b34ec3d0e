import { sql } from 'kysely'

import { ImpossibleError } from '../../base/errors.ts'
import type { LedgerCurrency, Wallet, WalletType } from '../../domain/ledger.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'

/** Only the user's own; a wallet of somebody else is as unknown as one that does not exist. */
export async function findWallet(
  db: Db,
  wanted: { userId: number; id: bigint },
): Promise<Wallet | undefined> {
  const { rows } = await sql<WalletRow>`
    ${WALLETS} where w.user_id = ${wanted.userId} and w.id = ${wanted.id}`.execute(db)
  return rows[0] && walletOf(rows[0])
}

/** Every user has one, from the moment the user is made. */
export async function mainWallet(db: Db, userId: number): Promise<Wallet> {
  const { rows } = await sql<WalletRow>`
    ${WALLETS} where w.user_id = ${userId} and w.type = 'merchant'`.execute(db)
  const [row] = rows
  if (!row) throw new ImpossibleError('the schema opens a wallet with each user')
  return walletOf(row)
}

export async function listWallets(db: Db, userId: number, page: Page): Promise<Wallet[]> {
  const { rows } = await sql<WalletRow>`
    ${WALLETS} where w.user_id = ${userId} ${pageOf(page, sql`w.id`)}`.execute(db)
  return inOrder(rows, page).map(walletOf)
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
  select w.id, w.user_id, w.type, w.description, w.created_at, a.balance, a.credit_line,
    a.currency
  from wallets w join accounts a on a.wallet_id = w.id and a.kind = 'wallet'`

type WalletRow = {
  id: bigint
  user_id: number
  type: WalletType
  description: string
  created_at: Date
  balance: string
  credit_line: string
  currency: LedgerCurrency
}

function walletOf(row: WalletRow): Wallet {
  return {
    id: row.id,
    userId: row.user_id,
    type: row.type,
    description: row.description,
    createdAt: row.created_at,
    amount: BigInt(row.balance),
    creditLine: BigInt(row.credit_line),
    currency: row.currency,
  }
}
