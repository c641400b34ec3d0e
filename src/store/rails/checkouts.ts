import { sql } from 'kysely'

import { DUST_PART } from '../../domain/gateways.ts'
import type { Hex } from '../../domain/orders.ts'
import { chainCoin } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'

/** Where payments are looked for. */
export type CheckoutPlace = { chainId: number; settlement: Hex; payee: Hex }

export type CheckoutCursor = { blockNumber: bigint; blockHash: Hex }

export type CheckoutPayment = {
  chainId: number
  transactionHash: Hex
  logIndex: number
  transactionId: string
  reference: Hex
  payer: Hex
  /** The contract, and whom it paid; undefined for one of before they were kept. */
  place: { contract: Hex; payee: Hex } | undefined
  token: Hex | undefined
  amount: bigint
  verdict: 'counted' | 'late' | 'wrong_token'
  blockNumber: bigint
  /** Undefined for one that was read before its block's hash was kept. */
  blockHash: Hex | undefined
  paidAt: Date
}

export const ARRIVAL = columnsOf<CheckoutPayment>()(`chain_id::float8, transaction_hash, log_index,
  transaction_id, reference, payer, contract as place.contract, payee as place.payee, token, amount,
  verdict, block_number, block_hash, paid_at`)

export async function readCheckoutCursor(
  db: Db,
  place: CheckoutPlace,
): Promise<CheckoutCursor | undefined> {
  const { rows } = await sql<CheckoutCursor>`
    select block_number as "blockNumber", block_hash as "blockHash" from checkout_cursors
    where chain_id = ${place.chainId} and settlement = ${place.settlement}
      and payee = ${place.payee}`.execute(db)
  return rows[0]
}

/**
 * Whether a charge may be paid in the next block, is still to be priced, or was open at the time.
 * What comes later for a charge that is decided can wait for some blocks.
 */
export async function isCheckoutAwaited(
  db: Db,
  { chainId, since }: { chainId: number; since: Date },
): Promise<boolean> {
  const { rows } = await sql<{ isAwaited: boolean }>`
    select exists (select from charges c where c.chain_id = ${chainId} and ${IS_AWAITED})
      or exists (select from charges where chain_id = ${chainId} and expires_at > ${since})
      or exists (
        select from charges
        where chain_id = ${chainId} and closed_by is not null and gas_used is null
      )
      as "isAwaited"`.execute(db)
  return rows[0]?.isAwaited ?? true
}

/** As the index of them has it. A charge that is pending has arrived nowhere yet, so it is new. */
const IS_AWAITED = sql`c.chain_id is not null
  and coalesce(c.gateway_status, 'NEW') in ('NEW', 'UNDERPAID')`

/** No guard: payments count once by their own key, so reading a range again does no harm. */
export async function writeCheckoutCursor(
  db: Db,
  place: CheckoutPlace,
  cursor: CheckoutCursor,
): Promise<void> {
  await sql`
    insert into checkout_cursors (chain_id, settlement, payee, block_number, block_hash)
    values (${place.chainId}, ${place.settlement}, ${place.payee}, ${cursor.blockNumber},
      ${cursor.blockHash})
    on conflict (chain_id, settlement, payee) do update
      set block_number = excluded.block_number, block_hash = excluded.block_hash`.execute(db)
}

/** The transaction of which a part is paid on this chain under this reference. */
export async function findReferenced(
  db: Db,
  { chainId, reference }: { chainId: number; reference: Hex },
): Promise<string | undefined> {
  const { rows } = await sql<{ transactionId: string }>`
    select transaction_id as "transactionId" from charges
    where left(reference, 64) = left(${reference}, 64) and chain_id = ${chainId}`.execute(db)
  return rows[0]?.transactionId
}

/** False where it is known already. */
export async function insertCheckoutPayment(db: Db, payment: CheckoutPayment): Promise<boolean> {
  const { rows } = await sql`
    insert into checkout_payments (chain_id, transaction_hash, log_index, transaction_id, reference,
      payer, contract, payee, token, amount, verdict, block_number, block_hash, paid_at)
    values (${payment.chainId}, ${payment.transactionHash}, ${payment.logIndex},
      ${payment.transactionId}, ${payment.reference}, ${payment.payer},
      ${payment.place?.contract ?? null}, ${payment.place?.payee ?? null}, ${payment.token ?? null},
      ${String(payment.amount)}::numeric, ${payment.verdict}, ${payment.blockNumber},
      ${payment.blockHash ?? null}, ${payment.paidAt})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length > 0
}

/** A transaction is in one block. Its payments for the charge elsewhere are no longer counted. */
export async function forgetElsewhere(
  db: Db,
  payment: Pick<CheckoutPayment, 'chainId' | 'transactionHash' | 'transactionId' | 'blockHash'>,
): Promise<void> {
  await sql`
    update checkout_payments set gone_at = now()
    where transaction_id = ${payment.transactionId} and chain_id = ${payment.chainId}
      and transaction_hash = ${payment.transactionHash}
      and block_hash is distinct from ${payment.blockHash ?? null} and gone_at is null`.execute(db)
}

/** A block in which something arrived for a charge. */
export type PaidBlock = { blockNumber: bigint; blockHash: Hex; transactionId: string }

/** From the lowest block up; without those whose block's hash was not kept. */
export async function listPaidBlocks(
  db: Db,
  wanted: { chainId: number; from: bigint; to: bigint; limit: number },
): Promise<PaidBlock[]> {
  const { rows } = await sql<PaidBlock>`
    select distinct block_number as "blockNumber", block_hash as "blockHash",
      transaction_id as "transactionId"
    from checkout_payments
    where chain_id = ${wanted.chainId} and block_number between ${wanted.from} and ${wanted.to}
      and block_hash is not null and gone_at is null
    order by block_number limit ${wanted.limit}`.execute(db)
  return rows
}

/** Payments for the charge in a block that is gone are no longer counted. Each is returned once. */
export async function forgetPaidIn(
  db: Db,
  gone: Omit<PaidBlock, 'blockNumber'> & { chainId: number },
): Promise<CheckoutPayment[]> {
  return readAll<CheckoutPayment>(db)`
    update checkout_payments set gone_at = now()
    where transaction_id = ${gone.transactionId} and chain_id = ${gone.chainId}
      and block_hash = ${gone.blockHash} and gone_at is null
    returning ${ARRIVAL}`
}

/** In the right token, in time and late. */
export type Arrived = { counted: bigint; late: bigint }

export async function sumCheckoutPayments(db: Db, transactionId: string): Promise<Arrived> {
  const { rows } = await sql<Arrived>`
    select coalesce(sum(amount) filter (where verdict = 'counted'), 0) as counted,
      coalesce(sum(amount) filter (where verdict = 'late'), 0) as late
    from checkout_payments
    where transaction_id = ${transactionId} and gone_at is null`.execute(db)
  return rows[0]!
}

/** How many stored arrivals are in another token, or are dust compared with what is due. */
export async function countSmallPayments(
  db: Db,
  { transactionId, due }: { transactionId: string; due: bigint },
): Promise<number> {
  const isDust = sql`amount * ${DUST_PART}::bigint < ${String(due)}::numeric`
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from checkout_payments
    where transaction_id = ${transactionId} and gone_at is null
      and (verdict = 'wrong_token' or ${isDust})`.execute(db)
  return rows[0]?.count ?? 0
}

/** What arrived in the right token under each reference. */
export async function sumByReference(db: Db, transactionId: string): Promise<Map<Hex, bigint>> {
  const { rows } = await sql<{ reference: Hex; amount: bigint }>`
    select reference, sum(amount) as amount from checkout_payments
    where transaction_id = ${transactionId} and gone_at is null and verdict <> 'wrong_token'
    group by reference`.execute(db)
  return new Map(rows.map(({ reference, amount }) => [reference, amount]))
}

/** The newest that arrived in another coin or token. */
export async function listWrongTokens(
  db: Db,
  { transactionId, limit }: { transactionId: string; limit: number },
): Promise<CheckoutPayment[]> {
  return readAll<CheckoutPayment>(db)`
    select ${ARRIVAL} from checkout_payments
    where transaction_id = ${transactionId} and gone_at is null and verdict = 'wrong_token'
    order by block_number desc, log_index desc limit ${limit}`
}

/** What each payer has paid in the right token. */
export async function sumByPayer(db: Db, transactionId: string): Promise<Map<Hex, bigint>> {
  const { rows } = await sql<{ payer: Hex; amount: bigint }>`
    select payer, sum(amount) as amount from checkout_payments
    where transaction_id = ${transactionId} and gone_at is null and verdict <> 'wrong_token'
    group by payer`.execute(db)
  return new Map(rows.map(({ payer, amount }) => [payer, amount]))
}

/** With the coin of its chain, by its symbol. */
export type ListedPayment = CheckoutPayment & { coin: string }

/**
 * The payments for charges, oldest first. Where a charge has more than the limit, payments in the
 * right token go before those in another token, and large ones before small ones.
 */
export async function listCheckoutPayments(
  db: Db,
  transactionIds: readonly string[],
  limitEach: number,
): Promise<ListedPayment[]> {
  return readAll<ListedPayment>(db)`
    select ${ARRIVAL.of('p')}, ${chainCoin('p.chain_id')} as coin
    from unnest(${transactionIds}::text[]) as wanted (transaction_id)
    cross join lateral (
      select * from checkout_payments
      where transaction_id = wanted.transaction_id and gone_at is null
      order by verdict = 'wrong_token', amount desc, block_number, log_index limit ${limitEach}
    ) p
    order by p.block_number, p.log_index`
}

/** Charges that were paid in part or late, oldest first. */
export async function listUndecided(
  db: Db,
  { transactionId: id, limit }: { transactionId?: string | undefined; limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ transactionId: string }>`
    select c.transaction_id as "transactionId" from charges c
    join transactions t using (transaction_id)
    where c.kind = 'crypto_checkout' and t.status = 'processing'
      ${id === undefined ? sql`` : sql`and c.transaction_id = ${id}`}
    order by t.created_at, t.id limit ${limit}`.execute(db)
  return rows.map(({ transactionId }) => transactionId)
}

/** Charges that wait with more than is due, which programs of before left to people. */
export async function listOverpaidOpen(db: Db, chainId: number): Promise<string[]> {
  const { rows } = await sql<{ transactionId: string }>`
    select c.transaction_id as "transactionId" from charges c
    join transactions t using (transaction_id)
    where c.chain_id = ${chainId} and c.gateway_status = 'OVERPAID' and t.status = 'processing'
    order by t.id limit 1000`.execute(db)
  return rows.map(({ transactionId }) => transactionId)
}

/** When the oldest charge was made for which nothing arrived and whose expiry is undecided. */
export async function findOldestUnpaid(db: Db, chainId: number): Promise<Date | undefined> {
  const { rows } = await sql<{ madeAt: Date | null }>`
    select min(t.created_at) as "madeAt" from charges c join transactions t using (transaction_id)
    where c.chain_id = ${chainId} and t.status = 'pending'`.execute(db)
  return rows[0]?.madeAt ?? undefined
}

/** Charges that have expired by the time of the chain and for which nothing arrived. */
export async function listExpired(
  db: Db,
  wanted: { chainId: number; before: Date; limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ transactionId: string }>`
    select c.transaction_id as "transactionId" from charges c
    join transactions t using (transaction_id)
    where c.chain_id = ${wanted.chainId} and c.expires_at < ${wanted.before}
      and ${IS_AWAITED} and t.status = 'pending'
    order by c.expires_at limit ${wanted.limit}`.execute(db)
  return rows.map(({ transactionId }) => transactionId)
}
