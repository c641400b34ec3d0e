import { sql, type RawBuilder } from 'kysely'

import type { Hex, OrderState, Route } from '../domain/orders.ts'
import type { Currency } from '../domain/money.ts'
import type { TransactionStatus } from '../domain/states.ts'
import type { Db } from './database.ts'

export type RecordsWanted = {
  chainId: number
  since: Date | undefined
  until: Date | undefined
}

/** What the tables say of one order: what it asks for, and what became of its transaction. */
export type RecordedOrder = {
  id: bigint
  subject: string
  /** What is told of it: the transaction's hash, or else the newest attempt's. */
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
  nonce: bigint | undefined
  /** Of the attempt that is final, and only where it has the hash. */
  blockHash: Hex | undefined
  fee: bigint | undefined
  /** What was signed under the hash. */
  raw: Hex | undefined
  createdAt: Date
  /** Whether the settlement that the sweep read is, in every field, the one that is recorded. */
  isSettled: boolean
}

/** In the order of their ids, after that one. */
export async function listRecordedOrders(
  db: Db,
  wanted: RecordsWanted & { after: bigint; limit: number },
): Promise<RecordedOrder[]> {
  const which = sql`o.chain_id = ${wanted.chainId} and o.id > ${wanted.after} and ${IS_PAYMENT}
    ${within(sql`o.accepted_at`, wanted)}
    order by o.id limit ${wanted.limit}`
  const { rows } = await sql<OrderRow>`${selectOrders()} where ${which}`.execute(db)
  return rows.map(readOrder)
}

export async function findRecordedOrder(
  db: Db,
  of: { chainId: number; transactionId: string },
): Promise<RecordedOrder | undefined> {
  const which = sql`o.chain_id = ${of.chainId} and o.subject = ${of.transactionId}`
  const { rows } = await sql<OrderRow>`${selectOrders()} where ${which}`.execute(db)
  return rows[0] && readOrder(rows[0])
}

/** An allowance moves no money. The one whose tokens it allows to be taken is counted itself. */
const IS_PAYMENT = sql`o.route <> 'allowance'`

function selectOrders(): RawBuilder<unknown> {
  return sql`
    select o.id, o.subject, coalesce(t.eth_transaction_hash, a.hash) as hash, t.status, o.state,
      o.route, o.reference, o.signer, o.payee, o.amount, a.nonce, o.accepted_at,
      case o.route when 'mint' then o.contract else o.token end as token,
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.block_hash end as block_hash,
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.gas_used * a.gas_price end as fee,
      case when t.eth_transaction_hash is null or t.eth_transaction_hash = a.hash
        then a.raw end as raw,
      o.state = 'completed' and coalesce(t.status, 'completed') in ('completed', 'refunded')
        and exists (
          select 1 from settled_logs s
          where s.chain_id = o.chain_id and s.reference = o.reference and s.contract = o.contract
            and s.payer = o.signer and s.payee = o.payee and s.amount = o.amount
            and s.token is not distinct from o.token and s.block_hash = a.block_hash
            and s.hash = coalesce(t.eth_transaction_hash, a.hash)
            and s.fee = a.gas_used * a.gas_price
        ) as is_settled
    from orders o
    left join transactions t on t.transaction_id = o.subject
    cross join lateral (
      select hash, nonce, case when state = 'final' then block_hash end as block_hash, gas_used,
        gas_price, raw
      from attempts
      where order_id = o.id and kind = 'payment'
      order by state = 'final' desc, id desc limit 1
    ) as a`
}

function readOrder(row: OrderRow): RecordedOrder {
  return {
    id: row.id,
    subject: row.subject,
    hash: row.hash,
    status: row.status ?? undefined,
    state: row.state,
    route: row.route,
    reference: row.reference,
    signer: row.signer,
    payee: row.payee,
    amount: row.amount,
    token: row.token ?? undefined,
    nonce: row.nonce,
    blockHash: row.block_hash ?? undefined,
    fee: row.fee === null ? undefined : BigInt(row.fee),
    raw: row.raw ?? undefined,
    createdAt: row.accepted_at,
    isSettled: row.is_settled,
  }
}

/** A transaction with a hash and without an order of ours, as imports bring them. */
export type RecordedHash = {
  id: bigint
  transactionId: string
  hash: Hex
  status: TransactionStatus
  amount: string
  currency: Currency
  createdAt: Date
}

export async function listRecordedHashes(
  db: Db,
  wanted: RecordsWanted & { after: bigint; limit: number },
): Promise<RecordedHash[]> {
  const { rows } = await sql<RecordedHash>`
    select id, transaction_id as "transactionId", eth_transaction_hash as hash, status, amount,
      currency, created_at as "createdAt"
    from transactions t
    where eth_transaction_hash is not null and id > ${wanted.after}
      and not exists (select 1 from orders where subject = t.transaction_id)
      ${within(sql`t.created_at`, wanted)}
    order by id limit ${wanted.limit}`.execute(db)
  return rows
}

export async function findRecordedHash(
  db: Db,
  transactionId: string,
): Promise<RecordedHash | undefined> {
  const { rows } = await sql<RecordedHash>`
    select id, transaction_id as "transactionId", eth_transaction_hash as hash, status, amount,
      currency, created_at as "createdAt"
    from transactions
    where transaction_id = ${transactionId} and eth_transaction_hash is not null`.execute(db)
  return rows[0]
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

/** Those of the hashes that our signers signed. */
export async function listOwnHashes(
  db: Db,
  { chainId, hashes }: { chainId: number; hashes: readonly Hex[] },
): Promise<Hex[]> {
  const { rows } = await sql<{ hash: Hex }>`
    select hash from attempts
    where chain_id = ${chainId}
      and hash in (select jsonb_array_elements_text(${JSON.stringify(hashes)}::jsonb))
    order by id`.execute(db)
  return rows.map(({ hash }) => hash)
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

type OrderRow = {
  id: bigint
  subject: string
  hash: Hex
  status: TransactionStatus | null
  state: OrderState
  route: Route
  reference: Hex
  signer: Hex
  payee: Hex
  amount: string
  token: Hex | null
  nonce: bigint
  accepted_at: Date
  block_hash: Hex | null
  fee: string | null
  raw: Hex | null
  is_settled: boolean
}
