import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { readOne } from '../database/rows.ts'
import type { CheckoutPayment } from './checkouts.ts'

/** What somebody else's transaction has brought: a deposit, or what has closed a checkout. */
export type Arrival = Omit<CheckoutPayment, 'reference' | 'verdict' | 'place'> & {
  /** Undefined where it did not come by the settlement contract. */
  reference: Hex | undefined
  contract: Hex | undefined
  /** Undefined for one of before it was kept. */
  payee: Hex | undefined
  /** False while the block is gone in which it was. */
  isThere: boolean
  /** What its transaction has cost, once that is known. */
  gas: GasPaid | undefined
}

export type GasPaid = { gasUsed: bigint; gasPrice: bigint }

/**
 * Records the arrival that closes a charge, and gives the transaction its hash. It is the arrival
 * with which the sum reaches `due`, or the last one where less was accepted. Without any arrival,
 * nothing changes.
 */
export async function noteClosing(
  db: Db,
  { transactionId, due }: { transactionId: string; due: bigint },
): Promise<void> {
  await sql`
    with summed as (
      select id, transaction_hash, block_number, log_index,
        sum(amount) over (order by block_number, log_index) >= ${String(due)}::numeric as is_whole
      from checkout_payments
      where transaction_id = ${transactionId} and gone_at is null and verdict <> 'wrong_token'
    ), closing as (
      select id, transaction_hash from summed
      order by is_whole desc, case when is_whole then block_number else -block_number end,
        case when is_whole then log_index else -log_index end
      limit 1
    ), charged as (
      update charges set closed_by = closing.id, gas_used = null, gas_price = null from closing
      where transaction_id = ${transactionId} and closed_by is distinct from closing.id
    )
    update transactions set eth_transaction_hash = closing.transaction_hash from closing
    where transaction_id = ${transactionId}
      and eth_transaction_hash is distinct from closing.transaction_hash`.execute(db)
}

/** Undefined where nothing has arrived that makes the transaction what it is. */
export async function findArrival(db: Db, transactionId: string): Promise<Arrival | undefined> {
  return readOne<Arrival>(db)`
    select chain_id::float8 as "chainId", transaction_hash as "transactionHash",
      log_index as "logIndex", transaction_id as "transactionId", reference, payer, contract, payee,
      token, amount, block_number as "blockNumber", block_hash as "blockHash", paid_at as "paidAt",
      gone_at is null as "isThere", gas_used as "gas.gasUsed", gas_price as "gas.gasPrice"
    from arrivals where transaction_id = ${transactionId}`
}

/** A closing arrival whose receipt was not read yet. */
export type Unpriced = { id: bigint; transactionHash: Hex; blockHash: Hex | null; logIndex: number }

/** In no order, so that one of which nobody knows the receipt keeps no other from its turn. */
export async function listUnpriced(
  db: Db,
  { chainId, limit }: { chainId: number; limit: number },
): Promise<Unpriced[]> {
  const { rows } = await sql<Unpriced>`
    select p.id, p.transaction_hash as "transactionHash", p.block_hash as "blockHash",
      p.log_index as "logIndex"
    from charges c join checkout_payments p on p.id = c.closed_by
    where c.gas_used is null and p.chain_id = ${chainId} and p.gone_at is null
    order by random() limit ${limit}`.execute(db)
  return rows
}

/** Keeps what the receipt says; the place alone where it was not known. */
export async function priceClosing(
  db: Db,
  priced: { id: bigint; contract: Hex; payee: Hex } & GasPaid,
): Promise<void> {
  await sql`
    with placed as (
      update checkout_payments set contract = ${priced.contract}, payee = ${priced.payee}
      where id = ${priced.id} and payee is null
    )
    update charges set gas_used = ${priced.gasUsed}, gas_price = ${String(priced.gasPrice)}::numeric
    where closed_by = ${priced.id}`.execute(db)
}
