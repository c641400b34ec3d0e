import { sql } from 'kysely'

import type { NotificationType } from '../../domain/notifications.ts'
import type { Db } from '../database/database.ts'

export type NewNotification = {
  userId: number
  type: NotificationType
  /** The full object as the API shows it now. It is sent as it stands here. */
  body: Readonly<Record<string, unknown>>
}

/**
 * Tells the user of a change, in the open transaction that makes it: there are both or neither.
 *
 * It takes the next number of the user's sequence and holds the counter to the end of the
 * transaction, so that numbers have no gaps and follow the commits. Others that tell the same user
 * wait for that long. So call it last, after all other locks; and where one transaction tells
 * several users, in the order of their ids, or two of them may wait for each other.
 */
export async function notify(db: Db, notification: NewNotification): Promise<void> {
  const { userId, type, body } = notification
  const about = body['paymentId'] ?? body['id']
  await sql`
    with counter as (
      insert into notification_counters as c (user_id, last_sequence) values (${userId}, 1)
      on conflict (user_id) do update set last_sequence = c.last_sequence + 1
      returning last_sequence
    ), told as (
      insert into notifications (user_id, type, sequence, about, body)
      select ${userId}, ${type}, last_sequence, ${typeof about === 'string' ? about : null},
        ${JSON.stringify(body)}::json
      from counter
      returning id
    )
    insert into webhook_deliveries (endpoint_id, notification_id)
    select e.id, told.id from webhook_endpoints e cross join told
    where e.user_id = ${userId} and e.state = 'confirmed' and ${type} = any (e.types)
    `.execute(db)
}
