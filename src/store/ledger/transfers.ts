import { sql } from 'kysely'

import type {
  LedgerCurrency,
  Mint,
  Redeem,
  Transfer,
  TransferStatus,
  WalletTransfer,
  WireDestination,
} from '../../domain/ledger.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'

type Made = 'id' | 'seq' | 'status' | 'errorCode' | 'transactionHash' | 'createdAt' | 'updatedAt'

export type NewWalletTransfer = Omit<WalletTransfer, Made>
/** Its id is known before it is stored, since the order on the chain is accepted under it. */
export type NewMint = Omit<Mint, Made> & { id: string; transactionHash: Hex }
/** Its id is known before where its burn is signed here. */
export type NewRedeem = Omit<Redeem, Made> & { id?: string | undefined }

export async function insertWalletTransfer(
  db: Db,
  transfer: NewWalletTransfer,
): Promise<WalletTransfer> {
  const { userId, walletId, toWalletId, currency, amount } = transfer
  const { rows } = await sql<TransferRow>`
    insert into transfers (kind, user_id, wallet_id, to_wallet_id, currency, amount, status)
    values ('wallet', ${userId}, ${walletId}, ${toWalletId}, ${currency},
      ${String(amount)}::numeric, 'complete')
    returning *`.execute(db)
  return transferOf(rows[0]!) as WalletTransfer
}

export async function insertMint(db: Db, mint: NewMint): Promise<Mint> {
  const { rows } = await sql<TransferRow>`
    insert into transfers (id, kind, user_id, wallet_id, chain, address, address_id, currency,
      amount, status, reference, transaction_hash)
    values (${mint.id}, 'mint', ${mint.userId}, ${mint.walletId}, ${mint.chain}, ${mint.address},
      ${mint.addressId ?? null}, ${mint.currency}, ${String(mint.amount)}::numeric, 'pending',
      ${mint.reference}, ${mint.transactionHash})
    returning *`.execute(db)
  return transferOf(rows[0]!) as Mint
}

export async function insertRedeem(db: Db, redeem: NewRedeem): Promise<Redeem> {
  const { rows } = await sql<TransferRow>`
    insert into transfers (id, kind, user_id, wallet_id, chain, address, destination, currency,
      amount, status, reference, expires_at)
    values (coalesce(${redeem.id ?? null}::uuid, gen_random_uuid()), 'redeem', ${redeem.userId},
      ${redeem.walletId}, ${redeem.chain}, ${redeem.address ?? null},
      ${JSON.stringify(redeem.destination)}::jsonb, ${redeem.currency},
      ${String(redeem.amount)}::numeric, 'pending', ${redeem.reference}, ${redeem.expiresAt})
    returning *`.execute(db)
  return transferOf(rows[0]!) as Redeem
}

/** Only the user's own, and only of these kinds. */
export async function findTransfer(
  db: Db,
  wanted: { userId: number; id: string; kinds: readonly Transfer['kind'][] },
): Promise<Transfer | undefined> {
  const { rows } = await sql<TransferRow>`
    select * from transfers
    where user_id = ${wanted.userId} and id = ${wanted.id} and kind = any (${wanted.kinds})
    `.execute(db)
  return rows[0] && transferOf(rows[0])
}

/** Whoever's redeem the memo names, with its row locked to the end of the transaction. */
export async function lockRedeem(db: Db, reference: Hex): Promise<Redeem | undefined> {
  const redeem = await lockTransfer(db, reference)
  return redeem?.kind === 'redeem' ? redeem : undefined
}

/** The same of a mint. */
export async function lockMint(db: Db, reference: Hex): Promise<Mint | undefined> {
  const mint = await lockTransfer(db, reference)
  return mint?.kind === 'mint' ? mint : undefined
}

async function lockTransfer(db: Db, reference: Hex): Promise<Transfer | undefined> {
  const { rows } = await sql<TransferRow>`
    select * from transfers where reference = ${reference} for no key update`.execute(db)
  return rows[0] && transferOf(rows[0])
}

export type TransferFilter = {
  userId: number
  kinds: readonly Transfer['kind'][]
  /** On either side. */
  walletId?: bigint | undefined
  sourceWalletId?: bigint | undefined
  destinationWalletId?: bigint | undefined
}

export async function listTransfers(
  db: Db,
  filter: TransferFilter,
  page: Page,
): Promise<Transfer[]> {
  const { walletId: either, sourceWalletId: source, destinationWalletId: destination } = filter
  // A redeem's wallet is neither its source nor its destination.
  const { rows } = await sql<TransferRow>`
    select * from transfers where user_id = ${filter.userId} and kind = any (${filter.kinds})
      ${
        either === undefined
          ? sql``
          : sql`and (to_wallet_id = ${either} or (wallet_id = ${either} and kind <> 'redeem'))`
      }
      ${source === undefined ? sql`` : sql`and wallet_id = ${source} and kind <> 'redeem'`}
      ${destination === undefined ? sql`` : sql`and to_wallet_id = ${destination}`}
      ${pageOf(page)}`.execute(db)
  return inOrder(rows, page).map(transferOf)
}

/** Undefined where it is in none of those states, and so has moved already. */
export async function moveTransfer(
  db: Db,
  move: {
    id: string
    from: readonly TransferStatus[]
    to: TransferStatus
    errorCode?: string | undefined
    transactionHash?: Hex | undefined
    blockNumber?: bigint | undefined
  },
): Promise<Transfer | undefined> {
  const { rows } = await sql<TransferRow>`
    update transfers set status = ${move.to}, updated_at = greatest(updated_at, now()),
      error_code = coalesce(${move.errorCode ?? null}, error_code),
      transaction_hash = coalesce(${move.transactionHash ?? null}, transaction_hash),
      block_number = coalesce(${move.blockNumber ?? null}, block_number)
    where id = ${move.id} and status = any (${move.from})
    returning *`.execute(db)
  return rows[0] && transferOf(rows[0])
}

/** Redeems whose time had passed at that moment of the chain, the longest waiting first. */
export async function listExpired(db: Db, wanted: { at: Date; limit: number }): Promise<Redeem[]> {
  const { rows } = await sql<TransferRow>`
    select * from transfers
    where kind = 'redeem' and status = 'pending' and expires_at < ${wanted.at}
    order by expires_at limit ${wanted.limit}`.execute(db)
  return rows.map((row) => transferOf(row) as Redeem)
}

type TransferRow = {
  id: string
  seq: bigint
  user_id: number
  kind: Transfer['kind']
  wallet_id: bigint
  to_wallet_id: bigint | null
  chain: string | null
  address: Hex | null
  address_id: string | null
  destination: Partial<WireDestination>
  currency: LedgerCurrency
  amount: string
  status: TransferStatus
  error_code: string | null
  transaction_hash: Hex | null
  reference: Hex | null
  expires_at: Date | null
  created_at: Date
  updated_at: Date
}

function transferOf(row: TransferRow): Transfer {
  const common = {
    id: row.id,
    seq: row.seq,
    userId: row.user_id,
    walletId: row.wallet_id,
    amount: BigInt(row.amount),
    currency: row.currency,
    status: row.status,
    errorCode: row.error_code ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
  // The schema has each column where its kind needs it.
  const chain = row.chain ?? ''
  const transactionHash = row.transaction_hash ?? undefined
  switch (row.kind) {
    case 'wallet':
      return { ...common, kind: 'wallet', toWalletId: row.to_wallet_id! }
    case 'mint': {
      const [addressId, reference] = [row.address_id ?? undefined, row.reference!]
      const place = { chain, address: row.address!, addressId }
      return { ...common, kind: 'mint', ...place, reference, transactionHash }
    }
    case 'redeem':
      return {
        ...common,
        kind: 'redeem',
        chain,
        address: row.address ?? undefined,
        destination: row.destination,
        reference: row.reference!,
        expiresAt: row.expires_at!,
        transactionHash,
      }
    default:
      return row.kind satisfies never
  }
}
