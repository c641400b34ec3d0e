import { sql, type RawBuilder } from 'kysely'

import type { Hex, OrderState, Route } from '../../domain/orders.ts'
import type { TransactionStatus } from '../../domain/states.ts'
import type { Db } from '../database/database.ts'
import { readAll, readOne } from '../database/rows.ts'

export type RecordsWanted = {
  chainId: number
  since: Date | undefined
  until: Date | undefined
}

/** What the tables say of one order: what it asks for, and what became of its transaction. */
export type RecordedOrder = {
  id: bigint
  subject: string
  /** The hash that is reported: the transaction's, or else the newest attempt's. */
  hash: Hex
  status: TransactionStatus | undefined
  state: OrderState
  route: Route
  reference: Hex
  signer: Hex
  payee: Hex
  amount: string
  /** What it pays in; undefined for ether. */
  token: Hex | undefined
  /** Of its transaction, where it has one. */
  currency: string | undefined
  tokenDecimals: number | undefined
  nonce: bigint | undefined
  /** Of the attempt that is final, and only where it has the hash. */
  blockHash: Hex | undefined
  /** In wei; undefined where another transaction is recorded than ours. */
  fee: { gas: bigint; rollup: bigint } | undefined
  /** What was signed under the hash. */
  raw: Hex | undefined
  createdAt: Date
  /** Whether another record may claim the same transaction. */
  isShared: boolean
}

/** An order, and what was signed for it where its settlement is seen. */
export type SweptOrder = {
  id: bigint
  subject: string
  /** Set where the settlement that the sweep read is, in every field, the one that is recorded. */
  settled: { hash: Hex; raw: Hex } | undefined
}

/**
 * In the order of their ids, after that one. What belongs to an order is found by it, which
 * `offset 0` makes sure of: of a table that was just filled the database knows nothing yet, and
 * would read all logs of the contract for each of its orders.
 */
export async function listSweptOrders(
  db: Db,
  wanted: RecordsWanted & { after: bigint; limit: number },
): Promise<SweptOrder[]> {
  return readAll<SweptOrder>(db)`
    select o.id, o.subject, a.hash as "settled.hash",
      case when o.contract is not null and o.state = 'completed'
        and coalesce(t.status, 'completed') in ('completed', 'refunded')
        and coalesce(t.eth_transaction_hash, a.hash) = a.hash
        and exists (
          select 1 from (select * from settled_logs where order_id = o.signed_for offset 0) as s
          where s.chain_id = o.chain_id and s.contract = o.contract and s.reference = o.reference
            and s.payer = o.signer and s.payee = o.payee and s.amount = o.amount
            and s.token is not distinct from o.token and s.block_hash = a.block_hash
            and s.hash = a.hash and s.fee = a.gas_used * a.gas_price + a.rollup_fee
        ) then a.raw end as "settled.raw"
    from orders o
    left join lateral (
      select * from attempts
      where order_id = o.signed_for and state = 'final' and kind = 'payment' offset 0
    ) as a on true
    left join lateral (
      select * from transactions where transaction_id = o.subject offset 0
    ) as t on true
    where o.chain_id = ${wanted.chainId} and o.id > ${wanted.after} and ${IS_PAYMENT}
      ${within(sql`o.accepted_at`, wanted)}
    order by o.id limit ${wanted.limit}`
}

/** In the order of their ids; one of which nothing was signed yet is left out. */
export async function listRecordedOrders(db: Db, ids: readonly bigint[]): Promise<RecordedOrder[]> {
  if (ids.length === 0) return []
  const list = JSON.stringify(ids.map(String))
  return readAll<RecordedOrder>(db)`${selectOrders()}
    where o.id in (select jsonb_array_elements_text(${list}::jsonb)::bigint)
    order by o.id`
}

/** Those of a stretch of ids that share their transaction with others. */
export async function listSharedOrders(
  db: Db,
  wanted: RecordsWanted & { after: bigint; to: bigint },
): Promise<RecordedOrder[]> {
  return readAll<RecordedOrder>(db)`
    select * from (${selectOrders()}
      where o.chain_id = ${wanted.chainId} and o.id > ${wanted.after} and o.id <= ${wanted.to}
        and ${IS_PAYMENT} ${within(sql`o.accepted_at`, wanted)}
    ) as every where "isShared" order by id`
}

export async function findRecordedOrder(
  db: Db,
  of: { chainId: number; transactionId: string },
): Promise<RecordedOrder | undefined> {
  const which = sql`o.chain_id = ${of.chainId} and o.subject = ${of.transactionId}`
  return readOne<RecordedOrder>(db)`${selectOrders()} where ${which}`
}

/**
 * An allowance moves no money. A bundle pays through its orders, which are counted instead. A burn
 * pays nobody; the watch on the supply compares it with its redeem.
 */
const IS_PAYMENT = sql`o.route not in ('allowance', 'burn')
  and (o.calldata is null or o.route in ('permit', 'mint'))`

function selectOrders(): RawBuilder<unknown> {
  return sql`
    select o.id, o.subject, coalesce(t.eth_transaction_hash, a.hash) as hash, t.status, o.state,
      o.route, o.reference, o.signer, o.payee, o.amount::text, a.nonce,
      o.accepted_at as "createdAt",
      case o.route when 'mint' then o.contract else o.token end as token,
      t.currency, t.token_decimals as "tokenDecimals",
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.block_hash end as "blockHash",
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.gas_used * a.gas_price end as "fee.gas",
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.rollup_fee end as "fee.rollup",
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.raw end as raw,
      coalesce(t.eth_transaction_hash <> a.hash, false) or exists (
        select 1 from transactions other
        where other.eth_transaction_hash = coalesce(t.eth_transaction_hash, a.hash)
          and other.transaction_id <> o.subject
      ) as "isShared"
    from orders o
    left join transactions t on t.transaction_id = o.subject
    cross join lateral (
      select hash, nonce, case when state = 'final' then block_hash end as block_hash, gas_used,
        gas_price, rollup_fee, raw
      from attempts
      where order_id = o.signed_for and kind = 'payment'
      order by state = 'final' desc, id desc limit 1
    ) as a`
}

/** A transaction with a hash and no order of ours: a paid checkout, a deposit, or an import. */
export type RecordedHash = {
  id: bigint
  transactionId: string
  hash: Hex
  status: TransactionStatus
  type: string
  amount: string
  currency: string
  tokenDecimals: number | null
  createdAt: Date
  isShared: boolean
  /** The transaction of ours that it was signed for, where this one says that we paid as well. */
  signedFor: string | null
  /** What has arrived; null for an import. */
  arrival: RecordedArrival | null
}

/** Hex, and the amount in the smallest unit; the place is not known of very old ones. */
export type RecordedArrival = {
  reference: Hex | null
  payer: Hex
  payee: Hex | null
  token: Hex | null
  amount: string
  blockHash: Hex | null
}

export async function listRecordedHashes(
  db: Db,
  wanted: RecordsWanted & { after: bigint; limit: number },
): Promise<RecordedHash[]> {
  const { rows } = await sql<RecordedHash>`
    ${selectHashes(wanted)} and t.id > ${wanted.after} ${within(sql`t.created_at`, wanted)}
    order by t.id limit ${wanted.limit}`.execute(db)
  return rows
}

/** Those of a stretch of ids that share their transaction with others. */
export async function listSharedHashes(
  db: Db,
  wanted: RecordsWanted & { after: bigint; to: bigint },
): Promise<RecordedHash[]> {
  const { rows } = await sql<RecordedHash>`
    select * from (${selectHashes(wanted)} and t.id > ${wanted.after} and t.id <= ${wanted.to}
      ${within(sql`t.created_at`, wanted)}
    ) as every where "isShared" order by id`.execute(db)
  return rows
}

export async function findRecordedHash(
  db: Db,
  { chainId, transactionId }: { chainId: number; transactionId: string },
): Promise<RecordedHash | undefined> {
  const { rows } = await sql<RecordedHash>`
    ${selectHashes({ chainId })} and t.transaction_id = ${transactionId}`.execute(db)
  return rows[0]
}

function selectHashes({ chainId }: { chainId: number }): RawBuilder<unknown> {
  return sql`
    select t.id, t.transaction_id as "transactionId", t.eth_transaction_hash as hash, t.status,
      t.type, t.amount::text, t.currency, t.token_decimals as "tokenDecimals",
      t.created_at as "createdAt",
      exists (
        select 1 from transactions other
        where other.eth_transaction_hash = t.eth_transaction_hash and other.id <> t.id
      ) or exists (
        select 1 from attempts a where a.chain_id = ${chainId} and a.hash = t.eth_transaction_hash
      ) as "isShared",
      case when t.type = 'settlement' then (
        select o.subject from attempts a join orders o on o.id = a.order_id
        where a.chain_id = ${chainId} and a.hash = t.eth_transaction_hash and a.kind = 'payment'
      ) end as "signedFor",
      case when p.payer is not null then jsonb_build_object('reference', p.reference,
        'payer', p.payer, 'payee', p.payee, 'token', p.token, 'amount', p.amount::text,
        'blockHash', p.block_hash)
      end as arrival
    from transactions t
    left join arrivals p on p.transaction_id = t.transaction_id
    where t.eth_transaction_hash is not null and coalesce(p.chain_id, ${chainId}) = ${chainId}
      and not exists (select 1 from orders where subject = t.transaction_id)`
}

export async function lastRecordId(db: Db, table: 'orders' | 'transactions'): Promise<bigint> {
  const { rows } = await sql<{ last: bigint | null }>`
    select max(id) as last from ${sql.table(table)}`.execute(db)
  return rows[0]?.last ?? 0n
}

/** For the time that is left; exact when nothing is added meanwhile. */
export async function countRecorded(db: Db, wanted: RecordsWanted): Promise<bigint> {
  const { rows } = await sql<{ total: bigint }>`
    select (select count(*) from orders o
        where o.chain_id = ${wanted.chainId} and ${IS_PAYMENT}
          ${within(sql`o.accepted_at`, wanted)})
      + (select count(*) from transactions t
        where eth_transaction_hash is not null
          and not exists (select 1 from orders where subject = t.transaction_id)
          ${within(sql`t.created_at`, wanted)}) as total`.execute(db)
  return rows[0]?.total ?? 0n
}

/** Those of the hashes that our signers signed, and for which order. */
export async function listOwnHashes(
  db: Db,
  { chainId, hashes }: { chainId: number; hashes: readonly Hex[] },
): Promise<{ hash: Hex; orderId: bigint }[]> {
  const { rows } = await sql<{ hash: Hex; orderId: bigint }>`
    select hash, order_id as "orderId" from attempts
    where order_id is not null and chain_id = ${chainId}
      and hash in (select jsonb_array_elements_text(${JSON.stringify(hashes)}::jsonb))
    order by id`.execute(db)
  return rows
}

/** Those of ours that are final in these blocks, as far as the limit goes. */
export async function listFinalHashes(
  db: Db,
  blocks: { chainId: number; from: bigint; to: bigint; limit: number },
): Promise<{ hash: Hex; orderId: bigint }[]> {
  const { rows } = await sql<{ hash: Hex; orderId: bigint }>`
    select hash, order_id as "orderId" from attempts
    where order_id is not null and chain_id = ${blocks.chainId} and state = 'final'
      and block_number between ${blocks.from} and ${blocks.to}
    order by block_number limit ${blocks.limit}`.execute(db)
  return rows
}

/** Whether we signed it, for whatever. */
export async function isOurHash(
  db: Db,
  { chainId, hash }: { chainId: number; hash: string },
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from attempts where chain_id = ${chainId} and hash = ${hash}
    union all
    select 1 from transactions where eth_transaction_hash = ${hash} limit 1`.execute(db)
  return rows.length > 0
}

function within(
  time: RawBuilder<unknown>,
  { since, until }: Pick<RecordsWanted, 'since' | 'until'>,
): RawBuilder<unknown> {
  return sql`${since === undefined ? sql`` : sql`and ${time} >= ${since}`}
    ${until === undefined ? sql`` : sql`and ${time} < ${until}`}`
}
