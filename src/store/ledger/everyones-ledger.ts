import { sql, type RawBuilder } from 'kysely'

import type { LedgerCurrency, Wallet } from '../../domain/ledger.ts'
import { chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'
import type { PostingKind, SystemAccount } from './ledger.ts'

/** A wallet of any user, with the amount that is held of it. */
export type OwnedWallet = Wallet & { username: string; held: bigint }

export type SystemBalance = {
  kind: SystemAccount
  /** Of the stablecoin of a chain. */
  chain: string | undefined
  currency: LedgerCurrency
  balance: bigint
}

/** One side of a posting: of a wallet where it has one, else of the platform. */
export type Side = { kind: 'wallet' | 'held' | SystemAccount; walletId: bigint | undefined }

export type PostingRow = {
  id: bigint
  kind: PostingKind
  subject: string
  from: Side
  to: Side
  currency: LedgerCurrency
  amount: bigint
  postedAt: Date
}

/** Oldest first. */
export async function listEveryonesWallets(
  db: Db,
  wanted: {
    userId?: number | undefined
    walletId?: bigint | undefined
    after?: bigint | undefined
    limit: number
  },
): Promise<OwnedWallet[]> {
  const { userId, walletId, after = 0n, limit } = wanted
  return readAll<OwnedWallet>(db)`
    select ${OWNED_WALLET}
    from wallets w
    join users u on u.id = w.user_id
    join accounts a on a.wallet_id = w.id and a.kind = 'wallet'
    join accounts h on h.wallet_id = w.id and h.kind = 'held' and h.currency = a.currency
    where w.id > ${after}
      ${userId === undefined ? sql`` : sql`and w.user_id = ${userId}`}
      ${walletId === undefined ? sql`` : sql`and w.id = ${walletId}`}
    order by w.id limit ${limit}`
}

const OWNED_WALLET = columnsOf<OwnedWallet>()(`w.id, w.user_id, u.username, w.type, w.description,
  a.currency, a.balance as amount, a.credit_line, h.balance as held, w.created_at`)

/** Where the money comes from and goes to that is in no wallet. */
export async function listSystemBalances(db: Db): Promise<SystemBalance[]> {
  return readAll<SystemBalance>(db)`
    select kind, ${chainName('accounts.chain_id')} as chain, currency, balance
    from accounts where wallet_id is null
    order by kind, chain, currency`
}

export type PostingsWanted = {
  walletId?: bigint | undefined
  /** What they are for: the id of a payment, a transfer or a transaction. */
  subject?: string | undefined
  /** The last of the page before. */
  after?: bigint | undefined
  limit: number
}

/** Newest first. A wallet's are read along the two indexes of its accounts, however many. */
export async function listPostings(db: Db, wanted: PostingsWanted): Promise<PostingRow[]> {
  const { walletId, subject, after, limit } = wanted
  const ofSubject = subject === undefined ? sql`` : sql`and subject = ${subject}`
  const page = sql`
    ${after === undefined ? sql`` : sql`and id < ${after}`} ${ofSubject}
    order by id desc limit ${limit}`
  const source =
    walletId === undefined
      ? sql`(select * from postings where true ${page})`
      : ofWallet(walletId, page)
  return readAll<PostingRow>(db)`
    select ${POSTING}
    from ${source} p
    join accounts f on f.id = p.from_account
    join accounts t on t.id = p.to_account
    order by p.id desc limit ${limit}`
}

const POSTING = columnsOf<PostingRow>()(`p.id, p.kind, p.subject, p.currency, p.amount, p.posted_at,
  f.kind as from.kind, f.wallet_id as from.walletId, t.kind as to.kind, t.wallet_id as to.walletId`)

/** What is held of a wallet moves between two accounts of its own, and is still one posting. */
function ofWallet(walletId: bigint, page: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select distinct on (moved.id) moved.* from accounts a cross join lateral (
      (select * from postings where from_account = a.id ${page})
      union all
      (select * from postings where to_account = a.id ${page})
    ) moved
    where a.wallet_id = ${walletId}
    order by moved.id desc
  )`
}
