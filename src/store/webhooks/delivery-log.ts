import { sql } from 'kysely'

import type {
  DeliveryState,
  DeliveryTry,
  EndpointState,
  Notification,
} from '../../domain/notifications.ts'
import type { Db } from '../database/database.ts'

/** A notification on its way to one endpoint, with what was tried. */
export type Delivery = {
  id: string
  subscriptionId: string
  userId: number
  username: string
  url: string
  endpointState: EndpointState
  notification: Pick<Notification, 'id' | 'type'> & { sequence: number | null }
  state: DeliveryState
  tries: number
  /** Null unless it is pending. While a try is under way it is the time by which that has ended. */
  dueAt: Date | null
  /** The latest ones, newest first. */
  latestTries: DeliveryTry[]
  createdAt: Date
  updatedAt: Date
}

export const MAX_LATEST_TRIES = 20

export type DeliveryWanted = {
  /** Absent: everybody's. */
  userId?: number | undefined
  subscriptionId?: string | undefined
  state?: DeliveryState | undefined
  /** The id of what they are about; a chargeback is about the payment that it takes back. */
  about?: string | undefined
  /** The last of the page before. */
  after?: string | undefined
  limit: number
}

/** Newest first. Each page is a walk along an index, however many deliveries there are. */
export async function listDeliveries(db: Db, wanted: DeliveryWanted): Promise<Delivery[]> {
  const { userId, subscriptionId, state, about, after, limit } = wanted
  const place = sql`(select p.created_at, p.id from webhook_deliveries p where p.id = ${after})`
  const conditions = [
    ...(state === undefined ? [] : [sql`d.state = ${state}`]),
    ...(after === undefined ? [] : [sql`(d.created_at, d.id) < ${place}`]),
  ]
  const own = userId === undefined ? [] : [sql`e.user_id = ${userId}`]
  if (subscriptionId === undefined) {
    const told = about === undefined ? [] : [sql`n.about = ${about}`]
    return selectDeliveries(db, { conditions: [...conditions, ...own, ...told], limit })
  }
  // The newest of each endpoint, so that the newest of them all are among these.
  const source = sql`
    webhook_endpoints e cross join lateral (
      select * from webhook_deliveries d
      where ${sql.join([sql`d.endpoint_id = e.id`, ...conditions], AND)}
      order by d.created_at desc, d.id desc limit ${limit}
    ) d`
  const ofSubscription = sql`e.subscription_id = ${subscriptionId}`
  return selectDeliveries(db, { source, conditions: [ofSubscription, ...own], limit })
}

export async function findDelivery(
  db: Db,
  wanted: { userId?: number | undefined; id: string },
): Promise<Delivery | undefined> {
  const { userId, id } = wanted
  const own = userId === undefined ? [] : [sql`e.user_id = ${userId}`]
  return (await selectDeliveries(db, { conditions: [sql`d.id = ${id}`, ...own], limit: 1 }))[0]
}

/**
 * Makes it due now, with a whole schedule ahead. One that is being tried right now is left alone. A
 * ping that is replayed gives its endpoint another chance; anything else to a disabled endpoint
 * would not arrive, so it is left alone too. False where nothing was changed.
 */
export async function replayDelivery(db: Db, id: string): Promise<boolean> {
  const { rows } = await sql`
    with replayed as (
      update webhook_deliveries d
      set state = 'pending', tries = 0, due_at = now(), is_leased = false, updated_at = now()
      from webhook_endpoints e, notifications n
      where d.id = ${id} and e.id = d.endpoint_id and n.id = d.notification_id
        and not (d.is_leased and d.due_at > now()) and e.disabled_code is distinct from 'deleted'
        and (e.state <> 'disabled' or n.type = 'ping')
      returning d.endpoint_id
    ), given_a_chance as (
      update webhook_endpoints e set state = 'pending', disabled_code = null, failing_since = null
      from replayed r where e.id = r.endpoint_id and e.state = 'disabled'
    )
    select endpoint_id from replayed`.execute(db)
  return rows.length > 0
}

async function selectDeliveries(
  db: Db,
  wanted: { source?: Sql; conditions: readonly Sql[]; limit: number },
): Promise<Delivery[]> {
  const { source = ALL, conditions, limit } = wanted
  const where = sql.join([sql`e.disabled_code is distinct from 'deleted'`, ...conditions], AND)
  const { rows } = await sql<DeliveryRow>`
    select d.id, e.subscription_id as "subscriptionId", e.user_id as "userId", u.username, e.url,
      e.state as "endpointState", d.state, d.tries, d.created_at as "createdAt",
      case when d.state = 'pending' then d.due_at end as "dueAt", d.updated_at as "updatedAt",
      json_build_object('id', n.id, 'type', n.type, 'sequence', n.sequence) as notification,
      (select coalesce(json_agg(t order by t."startedAt" desc), '[]') from (
        select started_at as "startedAt", duration_ms as "durationMs", outcome, status,
          answer_bytes as "answerBytes", error
        from webhook_tries where delivery_id = d.id order by id desc limit ${MAX_LATEST_TRIES}
      ) t) as "latestTries"
    from ${source}
    join users u on u.id = e.user_id
    join notifications n on n.id = d.notification_id
    where ${where}
    order by d.created_at desc, d.id desc limit ${limit}`.execute(db)
  return rows.map((row) => ({
    ...row,
    latestTries: row.latestTries.map((made) => ({ ...made, startedAt: new Date(made.startedAt) })),
  }))
}

type Sql = ReturnType<typeof sql>

const AND = sql` and `
const ALL = sql`webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id`

/** Times inside of JSON are text. */
type DeliveryRow = Omit<Delivery, 'latestTries'> & {
  latestTries: Array<Omit<DeliveryTry, 'startedAt'> & { startedAt: string }>
}
