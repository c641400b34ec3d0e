import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'

/** How far was read, from which block on, and how often it began again further down. */
export type DepositCursor = {
  blockNumber: bigint
  blockHash: Hex
  firstBlock: bigint
  rewinds: bigint
}

/** A block in which deposits are. */
export type DepositBlock = Pick<Deposit, 'blockNumber' | 'blockHash'>

/** An arrival at an address of ours that is not a deposit. */
export type OwnArrival = Pick<
  Deposit,
  'chainId' | 'transactionHash' | 'logIndex' | 'payee' | 'token' | 'amount' | 'blockNumber'
>

/** An arrival at a user's address, with its place on the chain. */
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
    select block_number as "blockNumber", block_hash as "blockHash", first_block as "firstBlock",
      rewinds from deposit_cursors
    where chain_id = ${chainId}`
}

/** False where another reader has moved it since. */
export async function moveDepositCursor(
  db: Db,
  chainId: number,
  { from, to }: { from: DepositCursor | undefined; to: { number: bigint; hash: Hex } },
): Promise<boolean> {
  const { rows } = await sql`
    insert into deposit_cursors as c (chain_id, block_number, block_hash, first_block)
    values (${chainId}, ${to.number}, ${to.hash}, ${to.number})
    on conflict (chain_id) do update
      set block_number = excluded.block_number, block_hash = excluded.block_hash,
        rewinds = c.rewinds + (excluded.block_number <= c.block_number)::integer
      where c.block_number = ${from?.blockNumber ?? -1n} and c.block_hash = ${from?.blockHash ?? ''}
        and c.rewinds = ${from?.rewinds ?? -1n}
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
export async function listSigned(
  db: Db,
  { chainId, hashes }: { chainId: number; hashes: readonly Hex[] },
): Promise<Map<Hex, { signer: Hex; raw: Hex }>> {
  const { rows } = await sql<{ hash: Hex; signer: Hex; raw: Hex }>`
    select hash, signer, raw from attempts
    where chain_id = ${chainId} and hash = any(${hashes}::text[])`.execute(db)
  return new Map(rows.map(({ hash, signer, raw }) => [hash, { signer, raw }]))
}

/**
 * The ids of those that were not known already. Their transactions have to follow in the same SQL
 * transaction.
 */
export async function insertDeposits(db: Db, deposits: readonly Deposit[]): Promise<Set<string>> {
  const { rows } = await sql<{ transactionId: string }>`
    insert into deposits (transaction_id, chain_id, transaction_hash, log_index, payer, payee,
      token, amount, contract, reference, block_number, block_hash, gas_used, gas_price, paid_at)
    select * from ${given(deposits.map(rowOf))`
      transaction_id text, chain_id bigint, transaction_hash text, log_index integer, payer text,
      payee text, token text, amount numeric, contract text, reference text, block_number bigint,
      block_hash text, gas_used bigint, gas_price numeric, paid_at timestamptz
    `} as row
    on conflict (chain_id, transaction_hash, log_index) where gone_at is null do nothing
    returning transaction_id as "transactionId"`.execute(db)
  return new Set(rows.map(({ transactionId }) => transactionId))
}

function rowOf(deposit: Deposit) {
  return {
    ...ownRowOf(deposit),
    transaction_id: deposit.transactionId,
    payer: deposit.payer,
    contract: deposit.contract,
    reference: deposit.reference,
    block_hash: deposit.blockHash,
    gas_used: String(deposit.gasUsed),
    gas_price: String(deposit.gasPrice),
    paid_at: deposit.paidAt,
  }
}

function ownRowOf(arrival: OwnArrival) {
  return {
    chain_id: arrival.chainId,
    transaction_hash: arrival.transactionHash,
    log_index: arrival.logIndex,
    payee: arrival.payee,
    token: arrival.token,
    amount: String(arrival.amount),
    block_number: String(arrival.blockNumber),
  }
}

/** Those of the transactions by which deposits came that are gone. */
export async function listGoneHashes(
  db: Db,
  { chainId, hashes }: { chainId: number; hashes: readonly Hex[] },
): Promise<Set<Hex>> {
  const { rows } = await sql<{ hash: Hex }>`
    select transaction_hash as hash from deposits
    where chain_id = ${chainId} and transaction_hash = any(${hashes}::text[])
      and gone_at is not null`.execute(db)
  return new Set(rows.map(({ hash }) => hash))
}

/** Restores a deposit that was gone and is in a block again, at any place in it. */
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

/** Above a block, from the lowest on. */
export async function listDepositBlocks(
  db: Db,
  { chainId, above }: { chainId: number; above: bigint },
): Promise<DepositBlock[]> {
  return readAll<DepositBlock>(db)`
    select distinct block_number as "blockNumber", block_hash as "blockHash" from deposits
    where chain_id = ${chainId} and block_number > ${above} and gone_at is null
    order by block_number`
}

/** Deposits of a block that is gone are no longer counted until they are in another block. */
export async function forgetDeposits(
  db: Db,
  { chainId, block, now }: { chainId: number; block: DepositBlock; now: Date },
): Promise<Deposit[]> {
  return readAll<Deposit>(db)`
    update deposits set gone_at = ${now}
    where chain_id = ${chainId} and block_number = ${block.blockNumber}
      and block_hash = ${block.blockHash} and gone_at is null
    returning ${DEPOSIT}`
}

/** Each is written once, however often it is read. */
export async function insertOwnArrivals(
  db: Db,
  { chainId, arrivals }: { chainId: number; arrivals: ReadonlyArray<Omit<OwnArrival, 'chainId'>> },
): Promise<void> {
  if (arrivals.length === 0) return
  const rows = arrivals.map((arrival) => ownRowOf({ chainId, ...arrival }))
  await sql`
    insert into own_arrivals (chain_id, transaction_hash, log_index, payee, token, amount,
      block_number)
    select * from ${given(rows)`
      chain_id bigint, transaction_hash text, log_index integer, payee text, token text,
      amount numeric, block_number bigint
    `} as row
    on conflict do nothing`.execute(db)
}

/** The blocks above are read again. */
export async function forgetOwnArrivals(
  db: Db,
  { chainId, above }: { chainId: number; above: bigint },
): Promise<void> {
  await sql`
    delete from own_arrivals
    where chain_id = ${chainId} and block_number > ${above}`.execute(db)
}
