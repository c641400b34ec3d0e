import { sql } from 'kysely'

import { EVENT_NOTIFICATIONS, type NotificationType } from '../../domain/notifications.ts'
import { listEveryonesEvents, type EveryonesEvent } from '../access/everyone.ts'
import type { Db } from '../database/database.ts'
import { readOne } from '../database/rows.ts'
import { transact } from '../database/transact.ts'
import { notifyAll, type NewNotification } from './notifications.ts'

/** Users with a confirmed endpoint for events, and with an event that is not a notification yet. */
export async function listEventFollowers(db: Db): Promise<number[]> {
  const { rows } = await sql<{ userId: number }>`
    select f.user_id as "userId" from event_followers f
    where exists (
      select from webhook_endpoints e
      where e.user_id = f.user_id and e.state = 'confirmed' and e.types && ${EVENTS}
    ) and exists (
      select from events e
      where e.user_id = f.user_id and e.log_key < log_horizon()
        and (e.log_key, e.id) > (f.log_key, f.event_id)
    )`.execute(db)
  return rows.map(({ userId }) => userId)
}

/**
 * From this moment on the user receives events, unless an endpoint of the user receives them
 * already. Call it in the open transaction that stores the endpoint, before the endpoint is stored.
 */
export async function beginEvents(db: Db, userId: number): Promise<void> {
  await sql`
    insert into event_followers as f (user_id, log_key, event_id)
    values (${userId}, log_horizon() - 1, 9223372036854775807)
    on conflict (user_id) do update set log_key = excluded.log_key, event_id = excluded.event_id
    where not exists (
      select from webhook_endpoints e
      where e.user_id = f.user_id and e.state <> 'disabled' and e.types && ${EVENTS}
    )`.execute(db)
}

/**
 * Writes new events of the log as notifications, and moves the cursor, in one SQL transaction. Each
 * event is handled once, whatever interrupts it and however many workers run. Returns how many it
 * read.
 */
export async function tellOfEvents(
  db: Db,
  telling: {
    userId: number
    limit: number
    bodyOf: (event: EveryonesEvent) => Readonly<Record<string, unknown>>
  },
): Promise<number> {
  const { userId, limit, bodyOf } = telling
  return transact(db, async (open) => {
    const after = await readOne<EveryonesEvent['place']>(open)`
      select log_key as "logKey", event_id as id from event_followers
      where user_id = ${userId} for update skip locked`
    if (after === undefined) return 0
    const events = await listEveryonesEvents(open, { userId, after, limit })
    const last = events.at(-1)?.place
    if (last === undefined) return 0
    const { rows } = await sql<{ type: NotificationType }>`
      select distinct unnest(types) as type from webhook_endpoints
      where user_id = ${userId} and state = 'confirmed'`.execute(open)
    const wanted = new Set(rows.map(({ type }) => type))
    await sql`
      update event_followers set log_key = ${last.logKey}, event_id = ${last.id}
      where user_id = ${userId}`.execute(open)
    const notifications = events.map((event): NewNotification => {
      const type = event.type.startsWith('batch.') ? 'batches' : 'transactions'
      return { type, body: bodyOf(event) }
    })
    const told = notifications.filter(({ type }) => wanted.has(type))
    await notifyAll(open, userId, told)
    return events.length
  })
}

const EVENTS = sql`${[...EVENT_NOTIFICATIONS]}::text[]`
