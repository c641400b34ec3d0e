import { sql } from 'kysely'

import type { Db } from '../database/database.ts'
import { leasing, type Due } from '../database/leases.ts'

/** Its status is undefined until the gateway was asked for it. */
export type Dispute = {
  disputeId: string
  transactionId: string
  status: string | undefined
  reason: string | undefined
  amountMinor: bigint | undefined
  createdAt: Date
  wakes: number
  lease: number
  tries: number
}

export type DisputeMove = { status: string; at: Date }

/** There is a dispute, or news of one; what it is about is asked of the gateway. */
export async function noteDispute(
  db: Db,
  dispute: { disputeId: string; transactionId: string },
): Promise<void> {
  await sql`
    insert into disputes as d (dispute_id, transaction_id)
    values (${dispute.disputeId}, ${dispute.transactionId})
    on conflict (dispute_id) do update set due_at = '-infinity', wakes = d.wakes + 1, tries = 0
      where d.transaction_id = excluded.transaction_id`.execute(db)
}

export async function leaseDisputes(db: Db, due: Due): Promise<Dispute[]> {
  const { rows } = await leasing<DisputeRow>('disputes', due).execute(db)
  return rows.map(disputeOf)
}

/** True where the status is another than before; the history then has it too. */
export async function moveDispute(
  db: Db,
  dispute: Pick<Dispute, 'disputeId'> & {
    status: string
    reason: string
    amountMinor: bigint
    now: Date
  },
): Promise<boolean> {
  const { rows } = await sql`
    with moved as (
      update disputes set status = ${dispute.status}, reason = ${dispute.reason},
        amount_minor = ${dispute.amountMinor}
      where dispute_id = ${dispute.disputeId} and status is distinct from ${dispute.status}
      returning dispute_id, status
    )
    insert into dispute_moves (dispute_id, status, moved_at)
    select dispute_id, status, ${dispute.now} from moved
    returning 1`.execute(db)
  return rows.length > 0
}

export async function releaseDispute(
  db: Db,
  dispute: Pick<Dispute, 'disputeId' | 'lease' | 'wakes'>,
  next: { dueAt: Date | undefined; trouble: string | undefined },
): Promise<void> {
  await sql`
    update disputes set trouble = ${next.trouble ?? null},
      due_at = case when wakes = ${dispute.wakes} then ${next.dueAt ?? null}::timestamptz
        else '-infinity' end
    where dispute_id = ${dispute.disputeId} and lease = ${dispute.lease}`.execute(db)
}

/** Those whose status is known, with their histories, oldest first. */
export async function listDisputes(
  db: Db,
  transactionId: string,
): Promise<Array<Dispute & { history: DisputeMove[] }>> {
  const { rows } = await sql<DisputeRow>`
    select * from disputes where transaction_id = ${transactionId} and status is not null
    order by created_at, dispute_id limit 100`.execute(db)
  const { rows: moves } = await sql<DisputeMove & { disputeId: string }>`
    select dispute_id as "disputeId", status, moved_at as at from dispute_moves
    where dispute_id in (select dispute_id from disputes where transaction_id = ${transactionId})
    order by id limit 1000`.execute(db)
  return rows.map(disputeOf).map((dispute) => ({
    ...dispute,
    history: moves
      .filter(({ disputeId }) => disputeId === dispute.disputeId)
      .map(({ status, at }) => ({ status, at })),
  }))
}

type DisputeRow = {
  dispute_id: string
  transaction_id: string
  status: string | null
  reason: string | null
  amount_minor: bigint | null
  created_at: Date
  wakes: number
  lease: number
  tries: number
}

function disputeOf(row: DisputeRow): Dispute {
  return {
    disputeId: row.dispute_id,
    transactionId: row.transaction_id,
    status: row.status ?? undefined,
    reason: row.reason ?? undefined,
    amountMinor: row.amount_minor ?? undefined,
    createdAt: row.created_at,
    wakes: row.wakes,
    lease: row.lease,
    tries: row.tries,
  }
}
