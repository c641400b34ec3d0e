import { sql, type RawBuilder } from 'kysely'

import type { BatchStatus, OnFailure } from '../../domain/batches.ts'
import { decimalsOf, formatAmount } from '../../domain/money.ts'
import type { Hex } from '../../domain/orders.ts'
import type { TransactionStatus } from '../../domain/states.ts'
import { chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'
import { TRANSACTION, inUnits, type InDecimals, type Transaction } from './transactions.ts'

/** Payments on the chain that were asked for together. */
export type Batch = {
  /** Internal; everything outside names it by `batchId`. */
  id: bigint
  batchId: string
  userId: number
  /** The name of the one that all of it is paid on. */
  chain: string
  currency: string
  /** Set where the currency is a token's symbol. */
  tokenDecimals?: number | undefined
  onFailure: OnFailure
  count: number
  /** In the smallest unit of the currency. */
  amount: bigint
  createdAt: Date
  /** When the last of its payments was final. */
  doneAt: Date | undefined
}

/** How many of its payments are in a state, and what they come to. */
export type BatchSum = { status: TransactionStatus; count: number; amount: bigint }

export type SummedBatch = Batch & { sums: readonly BatchSum[] }

const BATCH = sql`${columnsOf<Omit<InDecimals<Batch>, 'chain'>>()(`id, batch_id, user_id, currency,
  token_decimals, on_failure, count, amount::text, created_at, done_at`)},
  ${chainName('batches.chain_id')} as chain`

export async function insertBatch(
  db: Db,
  batch: Omit<Batch, 'id' | 'chain' | 'createdAt' | 'doneAt'> & { chainId: number },
): Promise<Batch> {
  const { batchId, userId, chainId, currency, tokenDecimals = null, onFailure, count } = batch
  const amount = formatAmount({ amount: batch.amount, decimals: decimalsOf(batch) })
  const row = await readOne<InDecimals<Batch>>(db)`
    insert into batches (batch_id, user_id, chain_id, currency, token_decimals, on_failure, count,
      amount)
    values (${batchId}, ${userId}, ${chainId}, ${currency}, ${tokenDecimals}, ${onFailure},
      ${count}, ${amount}::numeric)
    returning ${BATCH}`
  return inUnits(row!)
}

/** Only the user's own; anybody's where there is no user. */
export async function findBatch(
  db: Db,
  wanted: { userId?: number; batchId: string },
): Promise<SummedBatch | undefined> {
  const row = await readOne<InDecimals<Batch>>(db)`
    select ${BATCH} from batches
    where batch_id = ${wanted.batchId} ${of(wanted)}`
  const [batch] = row === undefined ? [] : await summed(db, [inUnits(row)])
  return batch
}

/** The newest first, before the one with that id where one is given. */
export async function listBatches(
  db: Db,
  page: {
    userId?: number | undefined
    chainId?: number | undefined
    before: bigint | undefined
    limit: number
  },
): Promise<SummedBatch[]> {
  const rows = await readAll<InDecimals<Batch>>(db)`
    select ${BATCH} from batches where true ${of(page)}
      ${page.chainId === undefined ? sql`` : sql`and chain_id = ${page.chainId}`}
      ${page.before === undefined ? sql`` : sql`and id < ${page.before}`}
    order by id desc limit ${page.limit}`
  return summed(db, rows.map(inUnits))
}

function of({ userId }: { userId?: number | undefined }): RawBuilder<unknown> {
  return userId === undefined ? sql`` : sql`and user_id = ${userId}`
}

async function summed(db: Db, batches: readonly Batch[]): Promise<SummedBatch[]> {
  const ids = batches.map(({ batchId }) => batchId)
  const rows = await readAll<
    InDecimals<BatchSum> & Pick<Batch, 'batchId' | 'currency' | 'tokenDecimals'>
  >(db)`
    select batch_id as "batchId", status, currency, token_decimals as "tokenDecimals",
      count(*)::integer as count,
      sum(amount)::text as amount
    from transactions where batch_id = any(${ids}::text[])
    group by batch_id, status, currency, token_decimals`
  const sums = Map.groupBy(rows.map(inUnits), ({ batchId }) => batchId)
  return batches.map((batch) => ({ ...batch, sums: sums.get(batch.batchId) ?? [] }))
}

/** A payment of a batch, with what the chain shows it under. */
export type BatchItem = Transaction & {
  place: number
  payee: Hex
  reference: Hex
  errorCode: string | null
  /** The selector of the error that stopped it. */
  refusal: Hex | null
}

/** In the order of the batch, from that place on. */
export async function listBatchItems(
  db: Db,
  page: { batchId: string; from: number; limit: number },
): Promise<BatchItem[]> {
  const { rows } = await sql<InDecimals<BatchItem>>`
    select ${TRANSACTION}, t.batch_place as place, o.payee, o.reference,
      o.error_code as "errorCode", o.refusal
    from transactions t join orders o on o.subject = t.transaction_id
    where t.batch_id = ${page.batchId} and t.batch_place >= ${page.from}
    order by t.batch_place limit ${page.limit}`.execute(db)
  return rows.map(inUnits)
}

/** The user's transactions that have one of these ids of the user's own. */
export async function findExternalIds(
  db: Db,
  wanted: { userId: number; externalIds: readonly string[] },
): Promise<{ externalId: string; transactionId: string }[]> {
  if (wanted.externalIds.length === 0) return []
  const { rows } = await sql<{ externalId: string; transactionId: string }>`
    select external_id as "externalId", transaction_id as "transactionId" from transactions
    where user_id = ${wanted.userId} and external_id = any(${wanted.externalIds}::text[])`.execute(
    db,
  )
  return rows
}

/**
 * Closes the batches that these transactions were the last of, each with its event. Call it in the
 * SQL transaction that moved them.
 */
export async function closeDoneBatches(db: Db, transactionIds: readonly string[]): Promise<void> {
  await sql`
    with touched as (
      select distinct batch_id from transactions
      where transaction_id = any(${transactionIds}::text[]) and batch_id is not null
    ), done as (
      update batches set done_at = now()
      where batch_id in (select batch_id from touched) and done_at is null and not exists (
        select from transactions t
        where t.batch_id = batches.batch_id and t.status in ('pending', 'processing')
      )
      returning batch_id, user_id, count
    ), paid as (
      select *, (
        select count(*) from transactions t
        where t.batch_id = done.batch_id and t.status <> 'failed'
      ) as paid from done
    ), judged as (
      select *, case paid when count then 'completed' when 0 then 'failed'
        else 'partly_completed' end as status from paid
    )
    insert into events (log_key, user_id, type, subject, data)
    select log_key_now(), user_id, 'batch.' || status, batch_id, jsonb_build_object(
      'status', case paid when 0 then 'failed' else 'completed' end, 'previous_status', 'pending',
      'reason', paid || ' of ' || count || ' paid')
    from judged`.execute(db)
}

export function statusOf({ doneAt, count, sums }: SummedBatch): BatchStatus {
  if (doneAt === undefined) return 'pending'
  const failed = sums.find(({ status }) => status === 'failed')?.count ?? 0
  if (failed === 0) return 'completed'
  return failed === count ? 'failed' : 'partly_completed'
}
