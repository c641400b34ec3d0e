import { sql } from 'kysely'

import type {
  Mint,
  Redeem,
  Transfer,
  TransferStatus,
  WalletTransfer,
  Withdrawal,
} from '../../domain/ledger.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { inOrder, pageOf, type Page } from '../database/pages.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

type Made = 'id' | 'seq' | 'status' | 'errorCode' | 'transactionHash' | 'createdAt' | 'updatedAt'

export type NewWalletTransfer = Omit<WalletTransfer, Made>
/** Its id is known before it is stored, since the order on the chain is accepted under it. */
export type NewMint = Omit<Mint, Made> & { id: string; transactionHash: Hex }
export type NewWithdrawal = Omit<Withdrawal, Made> & { transactionHash: Hex }
/** Its id is known before where its burn is signed here. */
export type NewRedeem = Omit<Redeem, Made> & { id?: string | undefined }

export async function insertWalletTransfer(
  db: Db,
  transfer: NewWalletTransfer,
): Promise<WalletTransfer> {
  const { userId, walletId, toWalletId, currency, amount } = transfer
  const row = await readOne<TransferRow>(db)`
    insert into transfers (kind, user_id, wallet_id, to_wallet_id, currency, amount, status)
    values ('wallet', ${userId}, ${walletId}, ${toWalletId}, ${currency},
      ${String(amount)}::numeric, 'complete')
    returning ${TRANSFER}`
  return transferOf(row!) as WalletTransfer
}

export async function insertMint(db: Db, mint: NewMint): Promise<Mint> {
  const row = await readOne<TransferRow>(db)`
    insert into transfers (id, kind, user_id, wallet_id, chain, address, address_id, currency,
      amount, status, chain_id, reference, transaction_hash)
    values (${mint.id}, 'mint', ${mint.userId}, ${mint.walletId}, ${mint.chain}, ${mint.address},
      ${mint.addressId ?? null}, ${mint.currency}, ${String(mint.amount)}::numeric, 'pending',
      ${mint.chainId}, ${mint.reference}, ${mint.transactionHash})
    returning ${TRANSFER}`
  return transferOf(row!) as Mint
}

export async function insertWithdrawal(db: Db, asked: NewWithdrawal): Promise<Withdrawal> {
  const row = await readOne<TransferRow>(db)`
    insert into transfers (kind, user_id, wallet_id, chain, address, transaction_id, currency,
      amount, status, chain_id, reference, transaction_hash)
    values ('withdrawal', ${asked.userId}, ${asked.walletId}, ${asked.chain}, ${asked.address},
      ${asked.transactionId}, ${asked.currency}, ${String(asked.amount)}::numeric, 'pending',
      ${asked.chainId}, ${asked.reference}, ${asked.transactionHash})
    returning ${TRANSFER}`
  return transferOf(row!) as Withdrawal
}

/** What stands as this transaction in Group B. */
export async function findWithdrawal(db: Db, transactionId: string): Promise<Transfer | undefined> {
  const row = await readOne<TransferRow>(db)`
    select ${TRANSFER} from transfers where transaction_id = ${transactionId}`
  return row && transferOf(row)
}

export async function insertRedeem(db: Db, redeem: NewRedeem): Promise<Redeem> {
  const row = await readOne<TransferRow>(db)`
    insert into transfers (id, kind, user_id, wallet_id, chain, address, destination, currency,
      amount, status, chain_id, reference, expires_at)
    values (coalesce(${redeem.id ?? null}::uuid, gen_random_uuid()), 'redeem', ${redeem.userId},
      ${redeem.walletId}, ${redeem.chain}, ${redeem.address ?? null},
      ${JSON.stringify(redeem.destination)}::jsonb, ${redeem.currency},
      ${String(redeem.amount)}::numeric, 'pending', ${redeem.chainId},
      ${redeem.reference}, ${redeem.expiresAt})
    returning ${TRANSFER}`
  return transferOf(row!) as Redeem
}

/** Only the user's own, and only of these kinds. */
export async function findTransfer(
  db: Db,
  wanted: { userId: number; id: string; kinds: readonly Transfer['kind'][] },
): Promise<Transfer | undefined> {
  const row = await readOne<TransferRow>(db)`
    select ${TRANSFER} from transfers
    where user_id = ${wanted.userId} and id = ${wanted.id} and kind = any (${wanted.kinds})
    `
  return row && transferOf(row)
}

/** The redeem that the memo names, of any user. Locks its row until the end of the transaction. */
export async function lockRedeem(db: Db, memo: MemoKey): Promise<Redeem | undefined> {
  const redeem = await lockTransfer(db, memo)
  return redeem?.kind === 'redeem' ? redeem : undefined
}

/** The same of a mint, whether it is one for a withdrawal or not. */
export async function lockMint(db: Db, memo: MemoKey): Promise<Mint | Withdrawal | undefined> {
  const mint = await lockTransfer(db, memo)
  return mint?.kind === 'mint' || mint?.kind === 'withdrawal' ? mint : undefined
}

/** What the mint of a transaction of ours is ordered under. */
export async function findMintReference(
  db: Db,
  { chainId, hash }: { chainId: number; hash: Hex },
): Promise<Hex | undefined> {
  const { rows } = await sql<{ reference: Hex }>`
    select o.reference from attempts a join orders o on o.id = a.order_id
    where a.chain_id = ${chainId} and a.hash = ${hash} and a.kind = 'payment'
      and o.route = 'mint'`.execute(db)
  return rows[0]?.reference
}

/**
 * The redeem that a holder without a memo means: the oldest that waits for this amount, else one
 * that waits, else the last one of this amount. Its row is locked.
 */
export async function lockRedeemBy(
  db: Db,
  { chainId, holder, amount }: { chainId: number; holder: Hex; amount: bigint },
): Promise<Redeem | undefined> {
  const row = await readOne<TransferRow>(db)`
    select ${TRANSFER} from transfers
    where kind = 'redeem' and chain_id = ${chainId} and address = ${holder}
      and (status = 'pending' or amount = ${String(amount)}::numeric)
    order by status = 'pending' and amount = ${String(amount)}::numeric desc,
      status = 'pending' desc, case when status = 'pending' then seq else -seq end
    limit 1 for no key update`
  return row && (transferOf(row) as Redeem)
}

/**
 * Whether the address belongs to another user: it is that user's address on the platform, or that
 * user named it for a redeem. Concurrent calls for one address wait for each other.
 */
export async function isHolderOfAnother(
  db: Db,
  { userId, holder }: { userId: number; holder: Hex },
): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${holder}, 0))`.execute(db)
  const { rows } = await sql`
    select 1 from transfers where kind = 'redeem' and address = ${holder} and user_id <> ${userId}
    union all select 1 from users where address = ${holder} and id <> ${userId}
    limit 1`.execute(db)
  return rows.length > 0
}

/** A memo says something on its chain alone. */
type MemoKey = { chainId: number; reference: Hex }

async function lockTransfer(
  db: Db,
  { chainId, reference }: MemoKey,
): Promise<Transfer | undefined> {
  const row = await readOne<TransferRow>(db)`
    select ${TRANSFER} from transfers
    where chain_id = ${chainId} and reference = ${reference} for no key update`
  return row && transferOf(row)
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
  const rows = await readAll<TransferRow>(db)`
    select ${TRANSFER} from transfers
    where user_id = ${filter.userId} and kind = any (${filter.kinds})
      ${
        either === undefined
          ? sql``
          : sql`and (to_wallet_id = ${either} or (wallet_id = ${either} and kind <> 'redeem'))`
      }
      ${source === undefined ? sql`` : sql`and wallet_id = ${source} and kind <> 'redeem'`}
      ${destination === undefined ? sql`` : sql`and to_wallet_id = ${destination}`}
      ${pageOf(page)}`
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
  const row = await readOne<TransferRow>(db)`
    update transfers set status = ${move.to}, updated_at = greatest(updated_at, now()),
      error_code = coalesce(${move.errorCode ?? null}, error_code),
      transaction_hash = coalesce(${move.transactionHash ?? null}, transaction_hash),
      block_number = coalesce(${move.blockNumber ?? null}, block_number)
    where id = ${move.id} and status = any (${move.from})
    returning ${TRANSFER}`
  return row && transferOf(row)
}

/** Redeems whose time had passed at that moment of the chain, the longest waiting first. */
export async function listExpired(
  db: Db,
  wanted: { chainId: number; at: Date; limit: number },
): Promise<Redeem[]> {
  const rows = await readAll<TransferRow>(db)`
    select ${TRANSFER} from transfers
    where kind = 'redeem' and status = 'pending' and chain_id = ${wanted.chainId}
      and expires_at < ${wanted.at}
    order by expires_at limit ${wanted.limit}`
  return rows.map((row) => transferOf(row) as Redeem)
}

/** What each kind has; the schema has it there. */
type TransferRow = Omit<WalletTransfer, 'kind'> &
  Omit<Redeem, 'kind'> &
  Pick<Mint, 'address' | 'addressId'> &
  Pick<Withdrawal, 'transactionId'> & { kind: Transfer['kind'] }

const TRANSFER = columnsOf<TransferRow>()(`id, seq, user_id, kind, wallet_id, to_wallet_id, chain,
  chain_id::float8, address, address_id, destination, currency, amount, status, error_code,
  transaction_hash, reference, expires_at, transaction_id, created_at, updated_at`)

function transferOf(row: TransferRow): Transfer {
  const {
    kind,
    toWalletId,
    chain,
    chainId,
    address,
    addressId,
    reference,
    transactionHash,
    ...rest
  } = row
  const { destination, expiresAt, transactionId, ...common } = rest
  switch (kind) {
    case 'wallet':
      return { ...common, kind, toWalletId }
    case 'mint':
      return { ...common, kind, chain, chainId, address, addressId, reference, transactionHash }
    case 'withdrawal':
      return { ...common, kind, chain, chainId, address, reference, transactionHash, transactionId }
    case 'redeem': {
      const asked = { chain, chainId, address, destination, reference, expiresAt, transactionHash }
      return { ...common, kind, ...asked }
    }
    default:
      return kind satisfies never
  }
}
