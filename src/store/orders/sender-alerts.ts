import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import { chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'

/**
 * `reorg_after_final`: the block of a final attempt is gone. `settlement_mismatch`: a transaction
 * succeeded without the event that proves the payment. `nonce_taken_by_like_payment`: somebody else
 * used the signer's key for the same payment.
 */
export type SenderAlertKind =
  'reorg_after_final' | 'settlement_mismatch' | 'nonce_taken_by_like_payment'

export type SenderAlert = {
  kind: SenderAlertKind
  chainId: number
  orderId: bigint | undefined
  hash: Hex
}

const ALERT = columnsOf<SenderAlert>()('kind, chain_id::float8, order_id, hash')

/** True when it is news. */
export async function openAlert(db: Db, alert: SenderAlert, now: Date): Promise<boolean> {
  const { rows } = await sql`
    insert into sender_alerts (kind, chain_id, order_id, hash, opened_at)
    values (${alert.kind}, ${alert.chainId}, ${alert.orderId ?? null}, ${alert.hash}, ${now})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length === 1
}

export async function closeAlert(
  db: Db,
  alert: Pick<SenderAlert, 'kind' | 'chainId' | 'hash'>,
  now: Date,
): Promise<void> {
  await sql`
    update sender_alerts set closed_at = ${now}
    where kind = ${alert.kind} and chain_id = ${alert.chainId} and hash = ${alert.hash}
      and closed_at is null`.execute(db)
}

export async function listOpenAlerts(db: Db, chainId: number): Promise<SenderAlert[]> {
  return readAll<SenderAlert>(db)`
    select ${ALERT} from sender_alerts
    where chain_id = ${chainId} and closed_at is null order by id limit ${MAX_ALERTS}`
}

/**
 * Takes those of a kind that nobody looked after since the time, the longest first, and leaves them
 * alone from now on as long.
 */
export async function takeAlerts(
  db: Db,
  taking: Pick<SenderAlert, 'kind' | 'chainId'> & { since: Date; now: Date; limit: number },
): Promise<SenderAlert[]> {
  const { kind, chainId, since, now, limit } = taking
  return readAll<SenderAlert>(db)`
    with taken as (
      update sender_alerts set tended_at = ${now}
      where id in (
        select id from sender_alerts
        where kind = ${kind} and chain_id = ${chainId} and closed_at is null
          and (tended_at is null or tended_at <= ${since})
        order by tended_at nulls first, id limit ${limit} for update skip locked
      )
      returning *
    )
    select ${ALERT} from taken order by id`
}

export async function countOpenAlerts(
  db: Db,
  chainId: number,
): Promise<ReadonlyMap<SenderAlertKind, number>> {
  const { rows } = await sql<{ kind: SenderAlertKind; count: number }>`
    select kind, count(*)::integer as count from sender_alerts
    where chain_id = ${chainId} and closed_at is null group by kind`.execute(db)
  return new Map(rows.map(({ kind, count }) => [kind, count]))
}

/** More than an operator reads; the oldest come first, so none is starved. */
const MAX_ALERTS = 1000

/** An open alert as an operator reads it. */
export type AlertRow = {
  id: bigint
  kind: SenderAlertKind
  chain: string
  transactionId: string | undefined
  hash: Hex
  openedAt: Date
  note: string | undefined
  acknowledgedBy: string | undefined
  acknowledgedAt: Date | undefined
}

const ALERT_ROW = sql`${columnsOf<Omit<AlertRow, 'chain'>>()(`a.id, a.kind, t.transaction_id,
  a.hash, a.opened_at, a.note, a.acknowledged_by, a.acknowledged_at`)},
  ${chainName('a.chain_id')} as chain`

/** Oldest first, of one chain or of all. */
export async function listAlertRows(db: Db, chainId?: number): Promise<AlertRow[]> {
  return readAll<AlertRow>(db)`
    select ${ALERT_ROW} from sender_alerts a left join orders o on o.id = a.order_id
    left join transactions t on t.transaction_id = o.subject
    where a.closed_at is null
      and (${chainId ?? null}::bigint is null or a.chain_id = ${chainId ?? null})
    order by a.id limit ${MAX_ALERTS}`
}

/** False where it is not open any more. */
export async function acknowledgeAlert(
  db: Db,
  alert: { id: bigint; note: string; actor: string; now: Date },
): Promise<boolean> {
  const { rows } = await sql`
    update sender_alerts set note = ${alert.note}, acknowledged_by = ${alert.actor},
      acknowledged_at = ${alert.now}
    where id = ${alert.id} and closed_at is null returning 1`.execute(db)
  return rows.length === 1
}
