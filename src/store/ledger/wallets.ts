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

const WALLETS = sql`
  select w.id, w.user_id, w.type, w.description, w.created_at, a.balance, a.currency
  from wallets w join accounts a on a.wallet_id = w.id and a.kind = 'wallet'`

type WalletRow = {
  id: bigint
  user_id: number
  type: WalletType
  description: string
  created_at: Date
  balance: string
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
    currency: row.currency,
  }
}
