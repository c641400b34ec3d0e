import { sql } from 'kysely'

import type { BreakKind } from '../../domain/breaks.ts'
import type { Db } from '../database/database.ts'
import type { SenderAlertKind } from '../orders/sender-alerts.ts'

/** An open break or an open alert that names a transaction: what speaks against its record. */
export type Objection = {
  kind: 'break' | 'alert'
  id: string
  reason: BreakKind | SenderAlertKind
  openedAt: Date
}

/** Of each of these transactions that has any, the oldest first: one query for a page. */
export async function listObjections(
  db: Db,
  transactionIds: readonly string[],
): Promise<ReadonlyMap<string, Objection[]>> {
  if (transactionIds.length === 0) return new Map()
  const ids = JSON.stringify(transactionIds)
  const { rows } = await sql<Objection & { about: string }>`
    select wanted.about, found.* from jsonb_array_elements_text(${ids}::jsonb) as wanted (about)
    cross join lateral (
      select 'break' as kind, break_id as id, kind as reason, first_seen_at as "openedAt"
      from breaks where transaction_id = wanted.about and state = 'open'
      union all
      select 'alert', alerts.id::text, alerts.kind, alerts.opened_at
      from (select signed_for from orders where subject = wanted.about offset 0) as o
      join sender_alerts as alerts on alerts.order_id = o.signed_for and alerts.closed_at is null
      order by "openedAt", id limit ${MAX_OBJECTIONS}
    ) as found`.execute(db)
  const found = new Map<string, Objection[]>()
  for (const { about, ...objection } of rows) {
    found.set(about, [...(found.get(about) ?? []), objection])
  }
  return found
}

/** What speaks against one transaction. */
export async function readObjections(db: Db, transactionId: string): Promise<Objection[]> {
  return (await listObjections(db, [transactionId])).get(transactionId) ?? []
}

/** There is one break of a kind for a hash; more than these no page has room for. */
const MAX_OBJECTIONS = 20
