import { sql } from 'kysely'

import type { Notification, NotificationType } from '../../domain/notifications.ts'
import type { Db } from '../database/database.ts'

export type NewNotification = {
  type: NotificationType
  /** The full object as the API shows it now. It is sent unchanged. */
  body: Readonly<Record<string, unknown>>
}

/**
 * Notifies the user of a change, in the open transaction that makes it: both are stored or neither.
 *
 * It takes the next number of the user's sequence and locks the counter until the end of the
 * transaction, so that numbers have no gaps and follow the commits. Other transactions that notify
 * the same user wait for that long. So call it last, after all other locks. Where one transaction
 * notifies several users, call it in the order of their ids, or two transactions may deadlock.
 */
export async function notify(
  db: Db,
  { userId, ...notification }: NewNotification & { userId: number },
): Promise<void> {
  await notifyAll(db, userId, [notification])
}

/** Several, numbered in their order. */
export async function notifyAll(
  db: Db,
  userId: number,
  notifications: readonly NewNotification[],
): Promise<void> {
  const { length: count } = notifications
  if (count === 0) return
  await sql`
    with counter as (
      insert into notification_counters as c (user_id, last_sequence) values (${userId}, ${count})
      on conflict (user_id) do update set last_sequence = c.last_sequence + excluded.last_sequence
      returning last_sequence
    ), told as (
      insert into notifications (user_id, type, sequence, about, body)
      select ${userId}, type, last_sequence - ${count} + place, about, body::json
      from counter cross join unnest(
        ${notifications.map(({ type }) => type)}::text[],
        ${notifications.map(({ body }) => aboutOf(body))}::text[],
        ${notifications.map(({ body }) => JSON.stringify(body))}::text[]
      ) with ordinality as row (type, about, body, place)
      order by place
      returning id, type
    )
    insert into webhook_deliveries (endpoint_id, notification_id)
    select e.id, told.id from webhook_endpoints e join told on told.type = any (e.types)
    where e.user_id = ${userId} and e.state = 'confirmed'`.execute(db)
}

/** The id of what it is about: a chargeback names its payment, an event its subject. */
function aboutOf(body: NewNotification['body']): string | null {
  const { paymentId, transaction_id: transactionId, batch_id: batchId, id } = body
  const about = paymentId ?? transactionId ?? batchId ?? id
  return typeof about === 'string' ? about : null
}

/** As it is sent. */
export async function findNotification(db: Db, id: string): Promise<Notification | undefined> {
  const { rows } = await sql<Notification>`
    select id, user_id as "userId", type, body, sequence, created_at as "createdAt"
    from notifications where id = ${id}`.execute(db)
  return rows[0]
}
