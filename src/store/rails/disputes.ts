import { sql } from 'kysely'

import type { Db } from '../database/database.ts'
import { leasing, type Due } from '../database/leases.ts'
import { columnsOf, readAll } from '../database/rows.ts'

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

const DISPUTE = columnsOf<Dispute>()(`dispute_id, transaction_id, status, reason, amount_minor,
  created_at, wakes, lease, tries`)

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

/** The payer's bank has taken the money back. */
export async function hasLostDispute(db: Db, transactionId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from disputes where transaction_id = ${transactionId} and status = 'lost'
    limit 1`.execute(db)
  return rows.length > 0
}

export async function leaseDisputes(db: Db, due: Due): Promise<Dispute[]> {
  return readAll<Dispute>(db)`${leasing('disputes', due, DISPUTE)}`
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

/** Those whose status is known, with their histories, oldest first. */
export async function listDisputes(
  db: Db,
  transactionId: string,
): Promise<Array<Dispute & { history: DisputeMove[] }>> {
  const disputes = await readAll<Dispute>(db)`
    select ${DISPUTE} from disputes where transaction_id = ${transactionId} and status is not null
    order by created_at, dispute_id limit 100`
  const { rows: moves } = await sql<DisputeMove & { disputeId: string }>`
    select dispute_id as "disputeId", status, moved_at as at from dispute_moves
    where dispute_id in (select dispute_id from disputes where transaction_id = ${transactionId})
    order by id limit 1000`.execute(db)
  return disputes.map((dispute) => ({
    ...dispute,
    history: moves
      .filter(({ disputeId }) => disputeId === dispute.disputeId)
      .map(({ status, at }) => ({ status, at })),
  }))
}

/** A dispute of any user, with the amount that it takes back. */
export type OwnedDispute = Pick<
  Dispute,
  'disputeId' | 'transactionId' | 'status' | 'reason' | 'amountMinor' | 'createdAt'
> & { userId: number; username: string; currency: string }

const OWNED_DISPUTE = columnsOf<OwnedDispute>()(`d.dispute_id, d.transaction_id, d.status, d.reason,
  d.amount_minor, d.created_at, t.user_id, u.username, t.currency`)

/** Newest first. There are few: each is a payer who went to the bank. */
export async function listEveryonesDisputes(db: Db, limit: number): Promise<OwnedDispute[]> {
  return readAll<OwnedDispute>(db)`
    select ${OWNED_DISPUTE} from disputes d join transactions t using (transaction_id)
    join users u on u.id = t.user_id
    order by d.created_at desc, d.dispute_id limit ${limit}`
}
