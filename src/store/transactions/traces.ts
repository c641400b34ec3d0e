import { sql } from 'kysely'

import type { OrderState } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'

/** Under which span what happens to the subject belongs. */
export type SubjectTrace = { subject: string; traceparent: string }

/** In the transaction that makes the subjects. What is stored of one stays. */
export async function storeTraces(db: Db, traces: readonly SubjectTrace[]): Promise<void> {
  await sql`
    insert into traces (subject, traceparent)
    select subject, traceparent from ${given(traces)`subject text, traceparent text`} as row
    on conflict (subject) do nothing`.execute(db)
}

/** Of what the notification is about. */
export async function findNotifiedTrace(
  db: Db,
  notificationId: string,
): Promise<SubjectTrace | undefined> {
  return readOne<SubjectTrace>(db)`
    select ${columnsOf<SubjectTrace>()('t.subject, t.traceparent')}
    from notifications n join traces t on t.subject = n.about where n.id = ${notificationId}`
}

/** An order whose request was traced, as it is now. */
export type TracedOrder = SubjectTrace & {
  id: bigint
  state: OrderState
  errorCode: string | undefined
}

/**
 * Of these orders those whose request was traced. An order that was accepted with another has that
 * one's subject with an ending of its own.
 */
export async function findTracedOrders(
  db: Db,
  orderIds: readonly bigint[],
): Promise<TracedOrder[]> {
  return readAll<TracedOrder>(db)`
    select ${ORDER}
    from orders o cross join lateral (
      select traceparent from traces
      where traces.subject in (o.subject, regexp_replace(o.subject, ${ENDING}, '')) limit 1
    ) as t
    where o.id = any (${orderIds.map(String)}::bigint[])`
}

const ENDING = '(-[0-9]{1,4}|-rest)?(-allowance)?$'

const ORDER = columnsOf<TracedOrder>()(`o.id, o.subject, o.state, o.error_code, t.traceparent`)
