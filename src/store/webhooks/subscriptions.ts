import { sql } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import type { DisabledCode, EndpointState, NotificationType } from '../../domain/notifications.ts'
import type { Db } from '../database/database.ts'
import { beginEvents } from './event-notifications.ts'

/** Which notifications a user receives, and where. Only the code that signs reads its secret. */
export type Subscription = {
  id: string
  userId: number
  username: string
  /** The address for all entries that name none. */
  url: string | null
  endpoints: SubscriptionEndpoint[]
  /** Until when the secret before the current one signs as well. */
  previousSecretUntil: Date | null
  createdAt: Date
  updatedAt: Date
}

/** One address, with the types that go there. */
export type SubscriptionEndpoint = {
  url: string
  types: NotificationType[]
  state: EndpointState
  disabledCode: DisabledCode | null
}

export const MAX_SUBSCRIPTIONS = 20

/** Stores it, with a ping on its way to each endpoint. Call it in an open transaction. */
export async function insertSubscription(
  db: Db,
  subscription: {
    userId: number
    url: string | null
    secret: string
    endpoints: ReadonlyArray<Pick<SubscriptionEndpoint, 'url' | 'types'>>
  },
): Promise<Subscription> {
  const { userId, url, secret, endpoints } = subscription
  await requireRoom(db, userId)
  await beginEvents(db, userId)
  const { rows } = await sql<{ id: string }>`
    insert into webhook_subscriptions (user_id, url, secret)
    values (${userId}, ${url}, ${secret}) returning id`.execute(db)
  const id = rows[0]?.id ?? ''
  for (const endpoint of endpoints) {
    await sql`
      with endpoint as (
        insert into webhook_endpoints (subscription_id, user_id, url, types)
        values (${id}, ${userId}, ${endpoint.url}, ${endpoint.types}) returning id
      ), ping as (
        insert into notifications (user_id, type, body)
        values (${userId}, 'ping', json_build_object('subscriptionId', ${id}::text)) returning id
      )
      insert into webhook_deliveries (endpoint_id, notification_id)
      select endpoint.id, ping.id from endpoint, ping`.execute(db)
  }
  const [inserted] = await selectSubscriptions(db, sql`s.id = ${id}`)
  return inserted as Subscription
}

/** The user's own, oldest first; there are at most `MAX_SUBSCRIPTIONS`. */
export async function listSubscriptions(db: Db, userId: number): Promise<Subscription[]> {
  return selectSubscriptions(db, sql`s.user_id = ${userId}`)
}

/** Everybody's, oldest first; the next page starts after the last id. */
export async function listAllSubscriptions(
  db: Db,
  page: { userId?: number | undefined; after?: string | undefined; limit: number },
): Promise<Subscription[]> {
  const place = sql`(
    select p.created_at, p.id from webhook_subscriptions p where p.id = ${page.after ?? null})`
  return selectSubscriptions(
    db,
    sql`(${page.userId ?? null}::integer is null or s.user_id = ${page.userId ?? null})
      and (${page.after ?? null}::uuid is null or (s.created_at, s.id) > ${place})`,
    page.limit,
  )
}

/** Undefined where the user has none of that id. */
export async function findSubscription(
  db: Db,
  wanted: { userId: number; id: string },
): Promise<Subscription | undefined> {
  const { userId, id } = wanted
  return (await selectSubscriptions(db, sql`s.id = ${id} and s.user_id = ${userId}`))[0]
}

/**
 * Ends the subscription for good: its secret is deleted, and its endpoints receive nothing more. A
 * worker cancels what is on its way there. False where none has that id, or it is another user's.
 */
export async function deleteSubscription(
  db: Db,
  wanted: { userId?: number | undefined; id: string },
): Promise<boolean> {
  const userId = wanted.userId ?? null
  const { rows } = await sql`
    with deleted as (
      update webhook_subscriptions
      set deleted_at = now(), updated_at = now(), secret = null, previous_secret = null,
        previous_secret_until = null
      where id = ${wanted.id} and deleted_at is null
        and (${userId}::integer is null or user_id = ${userId})
      returning id
    ), ended as (
      update webhook_endpoints e set state = 'disabled', disabled_code = 'deleted'
      from deleted where e.subscription_id = deleted.id
    )
    select id from deleted`.execute(db)
  return rows.length > 0
}

/** The current secret keeps signing for a day, with the new one. An older one ends at once. */
export async function replaceSecret(
  db: Db,
  change: { userId: number; id: string; secret: string },
): Promise<Subscription | undefined> {
  const { userId, id, secret } = change
  await sql`
    update webhook_subscriptions
    set previous_secret = secret, previous_secret_until = now() + interval '24 hours',
      secret = ${secret}, updated_at = now()
    where id = ${id} and user_id = ${userId} and deleted_at is null`.execute(db)
  return findSubscription(db, { userId, id })
}

async function selectSubscriptions(
  db: Db,
  where: ReturnType<typeof sql>,
  limit = MAX_SUBSCRIPTIONS,
): Promise<Subscription[]> {
  const { rows } = await sql<Subscription>`
    select s.id, s.user_id as "userId", u.username, s.url, s.created_at as "createdAt",
      s.updated_at as "updatedAt",
      case when s.previous_secret_until > now() then s.previous_secret_until
        end as "previousSecretUntil",
      (select json_agg(json_build_object('url', e.url, 'types', e.types, 'state', e.state,
          'disabledCode', e.disabled_code) order by e.id)
        from webhook_endpoints e where e.subscription_id = s.id) as endpoints
    from webhook_subscriptions s join users u on u.id = s.user_id
    where s.deleted_at is null and ${where}
    order by s.created_at, s.id limit ${limit}`.execute(db)
  return rows
}

/** The user's row is locked, so that concurrent requests are counted one after the other. */
async function requireRoom(db: Db, userId: number): Promise<void> {
  await sql`select 1 from users where id = ${userId} for no key update`.execute(db)
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_subscriptions
    where user_id = ${userId} and deleted_at is null`.execute(db)
  if ((rows[0]?.count ?? 0) >= MAX_SUBSCRIPTIONS) throw new TooManySubscriptionsError()
}

class TooManySubscriptionsError extends BaseError {
  constructor() {
    super(`An account has at most ${MAX_SUBSCRIPTIONS} subscriptions. Delete one of them first.`, {
      code: 'too_many_subscriptions',
    })
  }
}

/** An endpoint of any user, with the number of deliveries that wait for it. */
export type OwnedEndpoint = SubscriptionEndpoint & {
  id: bigint
  subscriptionId: string
  userId: number
  username: string
  failingSince: Date | null
  waiting: number
  createdAt: Date
}

/** Newest first, without those that were deleted. */
export async function listEveryonesEndpoints(
  db: Db,
  page: { userId?: number | undefined; before?: bigint | undefined; limit: number },
): Promise<OwnedEndpoint[]> {
  const { userId, before, limit } = page
  const { rows } = await sql<OwnedEndpoint>`
    select e.id, e.subscription_id as "subscriptionId", e.user_id as "userId", u.username, e.url,
      e.types, e.state, e.disabled_code as "disabledCode", e.failing_since as "failingSince",
      s.created_at as "createdAt", (
        select count(*)::integer from webhook_deliveries d
        where d.endpoint_id = e.id and d.state = 'pending'
      ) as waiting
    from webhook_endpoints e join users u on u.id = e.user_id
    join webhook_subscriptions s on s.id = e.subscription_id
    where e.disabled_code is distinct from 'deleted'
      ${userId === undefined ? sql`` : sql`and e.user_id = ${userId}`}
      ${before === undefined ? sql`` : sql`and e.id < ${before}`}
    order by e.id desc limit ${limit}`.execute(db)
  return rows
}
