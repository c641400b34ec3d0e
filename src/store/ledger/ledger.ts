import { sql, type RawBuilder } from 'kysely'

import { codeOf } from '../../base/errors.ts'
import {
  InsufficientFundsError,
  type LedgerAmount,
  type LedgerCurrency,
} from '../../domain/ledger.ts'
import type { Db } from '../database/database.ts'

/** A wallet's own money, what is held of it, or an account of the platform. */
export type LedgerAccount =
  | { wallet: bigint }
  | { heldOf: bigint }
  | { system: PlatformAccount }
  /** What is owed to the holders of the stablecoin of a chain. */
  | { stablecoinOn: number }

type PlatformAccount = 'bank' | 'unclaimed' | 'treasury'

export type SystemAccount = PlatformAccount | 'stablecoin'

export type PostingKind =
  | 'deposit'
  | 'transfer'
  | 'hold'
  /** As a hold, and may take of the wallet's credit line. */
  | 'draw'
  | 'release'
  | 'pay_out'
  | 'return'
  | 'mint'
  | 'redeem'
  | 'unclaimed'
  | 'withdraw'

export type Posting = LedgerAmount & {
  kind: PostingKind
  /** What it is for; each kind is posted once for it. */
  subject: string
  from: LedgerAccount
  to: LedgerAccount
}

/**
 * Moves money between two accounts in the open transaction. False: it was posted before, and
 * nothing moved. Rejects with `insufficient_funds` where less is there; then the transaction is
 * lost.
 */
export async function post(db: Db, posting: Posting): Promise<boolean> {
  const { kind, subject, from, to, amount, currency } = posting
  try {
    const { rows } = await sql`
      insert into postings (kind, subject, from_account, to_account, currency, amount)
      values (${kind}, ${subject}, ${accountAt(from, currency)}, ${accountAt(to, currency)},
        ${currency}, ${String(amount)}::numeric)
      on conflict do nothing
      returning 1`.execute(db)
    return rows.length > 0
  } catch (error) {
    if (isOverdraft(error)) throw new InsufficientFundsError()
    throw error
  }
}

export type Hold = LedgerAmount & {
  walletId: bigint
  endedAs: Extract<PostingKind, 'release' | 'pay_out' | 'mint' | 'withdraw'> | undefined
}

/** What is held, or was, for the subject. */
export async function findHold(db: Db, subject: string): Promise<Hold | undefined> {
  const { rows } = await sql<{
    walletId: bigint
    amount: string
    currency: LedgerCurrency
    endedAs: Hold['endedAs'] | null
  }>`
    select a.wallet_id as "walletId", p.amount, p.currency, ended.kind as "endedAs"
    from postings p join accounts a on a.id = p.from_account
    left join postings ended
      on ended.subject = p.subject and ended.kind in ('release', 'pay_out', 'mint', 'withdraw')
    where p.subject = ${subject} and p.kind in ('hold', 'draw')`.execute(db)
  const [row] = rows
  return row && { ...row, amount: BigInt(row.amount), endedAs: row.endedAs ?? undefined }
}

/** What is in an account now, in millionths. */
export async function readBalance(db: Db, place: LedgerAccount): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint }>`
    select balance from accounts where id = ${accountAt(place, 'USD')}`.execute(db)
  return rows[0]?.balance ?? 0n
}

function accountAt(place: LedgerAccount, currency: string): RawBuilder<unknown> {
  if ('system' in place) {
    return sql`(select id from accounts
      where kind = ${place.system} and wallet_id is null and currency = ${currency})`
  }
  if ('stablecoinOn' in place) {
    return sql`stablecoin_account(${place.stablecoinOn}::bigint, ${currency})`
  }
  const [kind, wallet] = 'wallet' in place ? ['wallet', place.wallet] : ['held', place.heldOf]
  return sql`(select id from accounts
    where wallet_id = ${wallet} and kind = ${kind} and currency = ${currency})`
}

function isOverdraft(error: unknown): boolean {
  const { constraint } = error as { constraint?: unknown }
  return codeOf(error) === '23514' && constraint === 'accounts_not_overdrawn'
}
