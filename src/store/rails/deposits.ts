import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

export type DepositCursor = { blockNumber: bigint; blockHash: Hex }

/** What came to a user's address, and where it stands on the chain. */
export type Deposit = {
  transactionId: string
  chainId: number
  transactionHash: Hex
  logIndex: number
  payer: Hex
  payee: Hex
  token: Hex | undefined
  amount: bigint
  contract: Hex | undefined
  reference: Hex | undefined
  blockNumber: bigint
  blockHash: Hex
  gasUsed: bigint
  gasPrice: bigint
  paidAt: Date
}

const DEPOSIT = columnsOf<Deposit>()(`transaction_id, chain_id::float8, transaction_hash, log_index,
  payer, payee, token, amount, contract, reference, block_number, block_hash, gas_used, gas_price,
  paid_at`)

export async function readDepositCursor(
  db: Db,
  chainId: number,
): Promise<DepositCursor | undefined> {
  return readOne<DepositCursor>(db)`
    select block_number as "blockNumber", block_hash as "blockHash" from deposit_cursors
    where chain_id = ${chainId}`
}

/** False where another reader has moved it since. */
export async function moveDepositCursor(
  db: Db,
  chainId: number,
  { from, to }: { from: DepositCursor | undefined; to: DepositCursor },
): Promise<boolean> {
  const { rows } = await sql`
    insert into deposit_cursors as c (chain_id, block_number, block_hash)
    values (${chainId}, ${to.blockNumber}, ${to.blockHash})
    on conflict (chain_id) do update
      set block_number = excluded.block_number, block_hash = excluded.block_hash
      where c.block_number = ${from?.blockNumber ?? -1n} and c.block_hash = ${from?.blockHash ?? ''}
    returning 1`.execute(db)
  return rows.length > 0
}

/** Of these addresses those that are users', and whose they are. */
export async function listOwners(
  db: Db,
  addresses: readonly Hex[],
): Promise<Map<Hex, { userId: number }>> {
  const { rows } = await sql<{ address: Hex; userId: number }>`
    select address, id as "userId" from users
    where address = any(${addresses}::text[])`.execute(db)
  return new Map(rows.map(({ address, userId }) => [address, { userId }]))
}

/** Those of the hashes that we have signed ourselves, for whatever. */
export async function listSignedHashes(
  db: Db,
  { chainId, hashes }: { chainId: number; hashes: readonly Hex[] },
): Promise<Set<Hex>> {
  const { rows } = await sql<{ hash: Hex }>`
    select hash from attempts
    where chain_id = ${chainId} and hash = any(${hashes}::text[])`.execute(db)
  return new Set(rows.map(({ hash }) => hash))
}

/** False where it is known already. Its transaction has to follow in the same SQL transaction. */
export async function insertDeposit(db: Db, deposit: Deposit): Promise<boolean> {
  const { rows } = await sql`
    insert into deposits (transaction_id, chain_id, transaction_hash, log_index, payer, payee,
      token, amount, contract, reference, block_number, block_hash, gas_used, gas_price, paid_at)
    values (${deposit.transactionId}, ${deposit.chainId}, ${deposit.transactionHash},
      ${deposit.logIndex}, ${deposit.payer}, ${deposit.payee}, ${deposit.token ?? null},
      ${String(deposit.amount)}::numeric, ${deposit.contract ?? null},
      ${deposit.reference ?? null}, ${deposit.blockNumber}, ${deposit.blockHash},
      ${deposit.gasUsed}, ${String(deposit.gasPrice)}::numeric, ${deposit.paidAt})
    on conflict (chain_id, transaction_hash, log_index) do nothing
    returning 1`.execute(db)
  return rows.length > 0
}

/** The one of these that was gone and stands in a block again, at whatever place. */
export async function returnDeposit(
  db: Db,
  back: Omit<Deposit, 'transactionId'>,
): Promise<Deposit | undefined> {
  return readOne<Deposit>(db)`
    update deposits set log_index = ${back.logIndex}, block_number = ${back.blockNumber},
      block_hash = ${back.blockHash}, gas_used = ${back.gasUsed},
      gas_price = ${String(back.gasPrice)}::numeric, paid_at = ${back.paidAt}, gone_at = null
    where transaction_id = (
      select transaction_id from deposits
      where chain_id = ${back.chainId} and transaction_hash = ${back.transactionHash}
        and payee = ${back.payee} and token is not distinct from ${back.token ?? null}
        and amount = ${String(back.amount)}::numeric and gone_at is not null
      order by log_index limit 1 for update
    )
    returning ${DEPOSIT}`
}

/** Those that stand above a block, as far as is known, from the lowest on. */
export async function listDepositsAbove(
  db: Db,
  wanted: { chainId: number; blockNumber: bigint; limit: number },
): Promise<Deposit[]> {
  return readAll<Deposit>(db)`
    select ${DEPOSIT} from deposits
    where chain_id = ${wanted.chainId} and block_number > ${wanted.blockNumber} and gone_at is null
    order by block_number limit ${wanted.limit}`
}

export async function forgetDeposit(
  db: Db,
  { transactionId, now }: { transactionId: string; now: Date },
): Promise<void> {
  await sql`
    update deposits set gone_at = ${now}
    where transaction_id = ${transactionId} and gone_at is null`.execute(db)
}

/** Written once, however often it is read. */
export async function insertOwnArrival(
  db: Db,
  arrival: Pick<
    Deposit,
    'chainId' | 'transactionHash' | 'logIndex' | 'payee' | 'token' | 'amount' | 'blockNumber'
  >,
): Promise<void> {
  await sql`
    insert into own_arrivals (chain_id, transaction_hash, log_index, payee, token, amount,
      block_number)
    values (${arrival.chainId}, ${arrival.transactionHash}, ${arrival.logIndex}, ${arrival.payee},
      ${arrival.token ?? null}, ${String(arrival.amount)}::numeric, ${arrival.blockNumber})
    on conflict do nothing`.execute(db)
}

/** The blocks above are read again. */
export async function forgetOwnArrivals(
  db: Db,
  { chainId, blockNumber }: { chainId: number; blockNumber: bigint },
): Promise<void> {
  await sql`
    delete from own_arrivals
    where chain_id = ${chainId} and block_number > ${blockNumber}`.execute(db)
}
