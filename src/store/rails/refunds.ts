import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { leasing, type Due } from '../database/leases.ts'
import { columnsOf, readAll } from '../database/rows.ts'

export type Refund = {
  refundId: string
  transactionId: string
  /** In the smallest unit of the charge's currency. */
  amount: bigint
  state: 'pending' | 'completed' | 'failed'
  /** Whose payment at the checkout goes back; undefined where none is named. */
  payer: Hex | undefined
  externalId: string | undefined
  errorCode: string | undefined
  createdAt: Date
  lease: number
  tries: number
}

const REFUND = columnsOf<Refund>()(`refund_id, transaction_id, amount, state, payer, external_id,
  error_code, created_at, lease, tries`)

/** Rejects where the refunds of the charge are frozen, or would exceed what arrived for it. */
export async function insertRefund(
  db: Db,
  refund: Pick<Refund, 'refundId' | 'transactionId' | 'amount'> &
    Partial<Pick<Refund, 'externalId' | 'payer'>>,
): Promise<void> {
  await sql`
    insert into refunds (refund_id, transaction_id, amount, payer, external_id)
    values (${refund.refundId}, ${refund.transactionId}, ${String(refund.amount)},
      ${refund.payer ?? null}, ${refund.externalId ?? null})`.execute(db)
}

/** While the block is gone in which the money came, none of it goes back. */
export async function areRefundsFrozen(db: Db, transactionId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from breaks
    where transaction_id = ${transactionId} and state = 'open' and kind = 'reorged'
    limit 1`.execute(db)
  return rows.length > 0
}

/** Of all refunds of a charge: how many, how much goes or went back, and how much is there. */
export type RefundSums = { count: number; taken: bigint; completed: bigint }

export async function sumRefunds(db: Db, transactionId: string): Promise<RefundSums> {
  const { rows } = await sql<RefundSums>`
    select count(*)::integer as count,
      coalesce(sum(amount) filter (where state <> 'failed'), 0) as taken,
      coalesce(sum(amount) filter (where state = 'completed'), 0) as completed
    from refunds where transaction_id = ${transactionId}`.execute(db)
  return rows[0]!
}

/** What goes or went back of what this payer has paid. */
export async function sumPayerRefunds(
  db: Db,
  { transactionId, payer }: { transactionId: string; payer: Hex },
): Promise<bigint> {
  const { rows } = await sql<{ taken: bigint }>`
    select coalesce(sum(amount), 0) as taken from refunds
    where transaction_id = ${transactionId} and payer = ${payer} and state <> 'failed'`.execute(db)
  return rows[0]!.taken
}

export async function listRefunds(db: Db, transactionId: string): Promise<Refund[]> {
  return readAll<Refund>(db)`
    select ${REFUND} from refunds where transaction_id = ${transactionId}
    order by created_at, refund_id limit 100`
}

export async function leaseRefunds(db: Db, due: Due): Promise<Refund[]> {
  return readAll<Refund>(db)`${leasing('refunds', due, REFUND)}`
}

/** Out of pending, once. */
export async function settleRefund(
  db: Db,
  refund: Pick<Refund, 'refundId' | 'externalId' | 'errorCode'> & {
    state: 'completed' | 'failed'
  },
): Promise<boolean> {
  const { rows } = await sql`
    update refunds set state = ${refund.state}, error_code = ${refund.errorCode ?? null},
      external_id = coalesce(${refund.externalId ?? null}, external_id), due_at = null
    where refund_id = ${refund.refundId} and state = 'pending'
    returning 1`.execute(db)
  return rows.length > 0
}

export async function releaseRefund(
  db: Db,
  refund: Pick<Refund, 'refundId' | 'lease'>,
  next: { dueAt: Date; trouble: string | undefined },
): Promise<void> {
  await sql`
    update refunds set due_at = ${next.dueAt}, trouble = ${next.trouble ?? null}
    where refund_id = ${refund.refundId} and lease = ${refund.lease}
      and state = 'pending'`.execute(db)
}
