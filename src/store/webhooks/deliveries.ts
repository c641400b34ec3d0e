import { sql } from 'kysely'

import type { DeliveryTry, DisabledCode, Notification } from '../../domain/notifications.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'

/** A delivery that a worker took for a while. `id` and `fence` together are its claim to it. */
export type DeliveryLease = {
  id: string
  fence: number
  /** Before this one. */
  tries: number
  endpointId: bigint
  /** It has been disabled since the delivery was written, which is therefore to be canceled. */
  isDisabled: boolean
  userId: number
  url: string
  /** The current one first. */
  secrets: string[]
  notification: Notification
}

export type LeaseWanted = {
  /** Those that failed last are taken apart, so that they hold up only each other. */
  kind: 'sound' | 'failing'
  limit: number
  perEndpoint: number
  perUser: number
  /** What this worker holds already, which counts towards the limits. */
  held: ReadonlyArray<Pick<DeliveryLease, 'endpointId' | 'userId'>>
  leaseMs: number
}

/**
 * Takes what is due, oldest first, past what others are taking, a few of each endpoint and each
 * user. Until the lease ends nobody else gets it; after that it comes again, so a worker that dies
 * loses nothing. It goes from endpoint to endpoint along an index, so an endpoint with a long
 * backlog costs no more than one with a single delivery.
 */
export async function leaseDeliveries(db: Db, wanted: LeaseWanted): Promise<DeliveryLease[]> {
  const { held, perEndpoint, perUser } = wanted
  const leases = await readAll<DeliveryLease>(db)`
    with recursive waiting as (
      (select endpoint_id from webhook_deliveries where state = 'pending'
        order by endpoint_id limit 1)
      union all
      select (select d.endpoint_id from webhook_deliveries d
        where d.state = 'pending' and d.endpoint_id > w.endpoint_id
        order by d.endpoint_id limit 1)
      from waiting w where w.endpoint_id is not null
    ), held as (
      select * from unnest(${held.map(({ endpointId }) => String(endpointId))}::bigint[],
        ${held.map(({ userId }) => userId)}::integer[]) as h (endpoint_id, user_id)
    ), candidates as materialized (
      select d.id, d.due_at, row_number() over (partition by e.user_id order by d.due_at, d.id)
        + (select count(*) from held h where h.user_id = e.user_id) as of_user
      from waiting w join webhook_endpoints e on e.id = w.endpoint_id
      cross join lateral (
        select id, due_at from webhook_deliveries
        where endpoint_id = e.id and state = 'pending' and due_at <= now()
        order by due_at, id
        limit greatest(0, ${perEndpoint}
          - (select count(*) from held h where h.endpoint_id = e.id))
        for update skip locked
      ) d
      where (e.failing_since is not null) = ${wanted.kind === 'failing'}
    ), chosen as (
      select id from candidates where of_user <= ${perUser} order by due_at, id
      limit ${wanted.limit}
    ), leased as (
      update webhook_deliveries d
      set fence = fence + 1, is_leased = true,
        due_at = now() + ${wanted.leaseMs} * interval '1 millisecond'
      from chosen where d.id = chosen.id
      returning d.*
    )
    select ${LEASE}, e.state = 'disabled' as "isDisabled", array_remove(array[s.secret,
        case when s.previous_secret_until > now() then s.previous_secret end], null) as secrets
    from leased l
    join webhook_endpoints e on e.id = l.endpoint_id
    join webhook_subscriptions s on s.id = e.subscription_id
    join notifications n on n.id = l.notification_id
    order by n.created_at, n.sequence`
  for (const { notification } of leases) notification.sequence ??= null
  return leases
}

type Claim = Pick<DeliveryLease, 'id' | 'fence'>

/**
 * The endpoint has answered, so it listens: it is confirmed, and no longer failing. The try is
 * logged in any case; false where the lease had ended.
 */
export async function recordDelivered(db: Db, claim: Claim, made: DeliveryTry): Promise<boolean> {
  const { rows } = await sql`
    with logged as (${insertTry(claim, made)}), delivered as (
      update webhook_deliveries d
      set state = 'delivered', is_leased = false, tries = d.tries + 1, updated_at = now()
      where ${isClaimed(claim)}
      returning d.id, d.endpoint_id
    ), sound as (
      update webhook_endpoints e set failing_since = null,
        state = case e.state when 'pending' then 'confirmed' else e.state end
      from delivered where e.id = delivered.endpoint_id
        and (e.failing_since is not null or e.state = 'pending')
    )
    select id from delivered`.execute(db)
  return rows.length > 0
}

/** What follows from a failed try. */
export type AfterFailure = {
  /** Absent: the schedule has ended, and the delivery has failed. */
  retryAfterMs: number | undefined
  /** An endpoint that has failed for so long is disabled. */
  disableAfterMs: number
}

/** Tells why the endpoint was disabled by it, if it was. */
export async function recordFailed(
  db: Db,
  claim: Claim,
  made: DeliveryTry & AfterFailure,
): Promise<DisabledCode | undefined> {
  const retryAfterMs = made.retryAfterMs ?? null
  const { rows } = await sql<{ disabledCode: DisabledCode | null }>`
    with logged as (${insertTry(claim, made)}), failed as (
      update webhook_deliveries d
      set state = case when ${retryAfterMs}::bigint is null then 'failed' else 'pending' end,
        due_at = now() + coalesce(${retryAfterMs}, 0) * interval '1 millisecond',
        is_leased = false, tries = d.tries + 1, updated_at = now()
      from notifications n where n.id = d.notification_id and ${isClaimed(claim)}
      returning d.endpoint_id, case
        when ${made.outcome} = 'gone' then 'gone'
        when n.type = 'ping' and d.state = 'failed' then 'unconfirmed' end as code
    )
    update webhook_endpoints e
    set failing_since = coalesce(e.failing_since, now()),
      state = case when coalesce(f.code, ${hasFailedFor(made)}) is null
        then e.state else 'disabled' end,
      disabled_code = coalesce(f.code, ${hasFailedFor(made)})
    from failed f where e.id = f.endpoint_id and e.state <> 'disabled'
    returning e.disabled_code as "disabledCode"`.execute(db)
  return rows[0]?.disabledCode ?? undefined
}

function hasFailedFor({ disableAfterMs }: AfterFailure) {
  return sql`case when e.failing_since <= now() - ${disableAfterMs} * interval '1 millisecond'
    then 'failing' end`
}

/** A worker that stops gives back what it has not finished; the try does not count. */
export async function releaseDelivery(db: Db, claim: Claim): Promise<void> {
  await sql`
    update webhook_deliveries d set is_leased = false, due_at = now()
    where ${isClaimed(claim)}`.execute(db)
}

/**
 * Nothing goes to an endpoint any more that has been disabled. One that a replay has enabled since
 * keeps its deliveries.
 */
export async function cancelDeliveries(db: Db, endpointIds: readonly bigint[]): Promise<void> {
  await sql`
    update webhook_deliveries d set state = 'canceled', is_leased = false, updated_at = now()
    from webhook_endpoints e
    where e.id = any (${endpointIds.map(String)}::bigint[]) and e.state = 'disabled'
      and d.endpoint_id = e.id and d.state = 'pending'`.execute(db)
}

/**
 * Much cheaper than a lease that finds nothing: whether there is one to try now, and whether any
 * endpoint is there at all.
 */
export async function lookForDeliveries(
  db: Db,
): Promise<{ isDue: boolean; hasEndpoints: boolean }> {
  const { rows } = await sql<{ isDue: boolean; hasEndpoints: boolean }>`
    select exists (
      select from webhook_deliveries where state = 'pending' and due_at <= now()
    ) as "isDue", exists (select from webhook_endpoints) as "hasEndpoints"`.execute(db)
  return rows[0] ?? { isDue: false, hasEndpoints: false }
}

/** How long the oldest delivery that is due has been waiting for a worker; 0 where none is. */
export async function readOldestDueMs(db: Db): Promise<number> {
  const { rows } = await sql<{ ageMs: number }>`
    select greatest(0, coalesce(extract(epoch from now() - min(due_at)), 0) * 1000)::float8
      as "ageMs"
    from webhook_deliveries where state = 'pending' and due_at <= now()`.execute(db)
  return rows[0]?.ageMs ?? 0
}

/** Deletes a batch of old notifications and all records of their delivery; returns their number. */
export async function pruneNotifications(
  db: Db,
  wanted: { olderThan: Date; limit: number },
): Promise<number> {
  const { rows } = await sql`
    delete from notifications where id in (
      select id from notifications where created_at < ${wanted.olderThan}
      order by created_at limit ${wanted.limit} for update skip locked
    ) returning id`.execute(db)
  return rows.length
}

function isClaimed({ id, fence }: Claim) {
  return sql`d.id = ${id} and d.fence = ${fence} and d.state = 'pending'`
}

function insertTry({ id }: Claim, made: DeliveryTry) {
  return sql`
    insert into webhook_tries
      (delivery_id, started_at, duration_ms, outcome, status, answer_bytes, error)
    values (${id}, ${made.startedAt}, ${made.durationMs}, ${made.outcome}, ${made.status},
      ${made.answerBytes}, ${made.error})`
}

const LEASE = columnsOf<Omit<DeliveryLease, 'isDisabled' | 'secrets'>>()(`l.id, l.fence, l.tries,
  l.endpoint_id, e.user_id, e.url, n.id as notification.id, e.user_id as notification.userId,
  n.type as notification.type, n.sequence as notification.sequence, n.body as notification.body,
  n.created_at as notification.createdAt`)
