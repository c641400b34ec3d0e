import { sql } from 'kysely'

import type { Db } from '../database/database.ts'
import type { Event } from '../transactions/events.ts'
import {
  findTransactions,
  type ListPlace,
  type PageRequest,
  type TransactionPage,
  type Wanted,
} from '../transactions/found.ts'
import {
  TRANSACTION,
  inUnits,
  type InDecimals,
  type Transaction,
} from '../transactions/transactions.ts'

/** A transaction of any user, for those who look after all of them. */
export type OwnedTransaction = Transaction & { username: string }

export type EveryonesFilter = Pick<Wanted, 'userId' | 'type' | 'status' | 'from' | 'until'>

/** As `findTransactions`, with their owners. */
export async function findEveryonesTransactions(
  db: Db,
  wanted: Wanted,
  request: PageRequest,
): Promise<TransactionPage & { transactions: OwnedTransaction[] }> {
  const page = await findTransactions(db, wanted, request)
  return { ...page, transactions: await withUsernames(db, page.transactions) }
}

/** With the names of their owners, in the same order. */
export async function withUsernames<T extends { userId: number }>(
  db: Db,
  owned: readonly T[],
): Promise<(T & { username: string })[]> {
  const ids = [...new Set(owned.map(({ userId }) => userId))]
  const { rows } = await sql<{ id: number; username: string }>`
    select id, username from users where id = any(${ids}::integer[])`.execute(db)
  const names = new Map(rows.map(({ id, username }) => [id, username]))
  return owned.map((one) => ({ ...one, username: names.get(one.userId) ?? '' }))
}

/** One page, newest first unless the oldest are asked for. */
export async function listEveryonesTransactions(
  db: Db,
  filter: EveryonesFilter,
  page: { after?: ListPlace | undefined; limit: number; sort?: 'newest' | 'oldest' | undefined },
): Promise<OwnedTransaction[]> {
  const { after, sort = 'newest' } = page
  const [order, behind] = sort === 'newest' ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`]
  const { rows } = await sql<InDecimals<OwnedTransaction>>`
    select ${TRANSACTION}, u.username
    from transactions t join users u on u.id = t.user_id
    where ${takes(filter)}
      ${after ? sql`and (t.created_at, t.id) ${behind} (${after.createdAt}, ${after.id})` : sql``}
    order by t.created_at ${order}, t.id ${order} limit ${page.limit}`.execute(db)
  return rows.map(inUnits)
}

/** How many there are, counted up to a limit: beyond that the number helps nobody. */
export async function countEveryonesTransactions(
  db: Db,
  filter: EveryonesFilter,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) from (
      select 1 from transactions t where ${takes(filter)} limit ${limit}
    ) as found`.execute(db)
  return Number(rows[0]?.count ?? 0n)
}

export async function findEveryonesTransaction(
  db: Db,
  transactionId: string,
): Promise<OwnedTransaction | undefined> {
  const { rows } = await sql<InDecimals<OwnedTransaction>>`
    select ${TRANSACTION}, u.username
    from transactions t join users u on u.id = t.user_id
    where t.transaction_id = ${transactionId}`.execute(db)
  return rows[0] && inUnits(rows[0])
}

/** A place in the log of all users' events. */
export type StreamPlace = { logKey: bigint; id: bigint }

export type EveryonesEvent = Event & { userId: number; place: StreamPlace }

/** As `listEvents`, of all users, or of one. */
export async function listEveryonesEvents(
  db: Db,
  wanted: { userId?: number | undefined; after: StreamPlace; limit: number },
): Promise<EveryonesEvent[]> {
  const { userId, after } = wanted
  const { rows } = await sql<Event & { userId: number; logKey: bigint }>`
    select id, log_key as "logKey", user_id as "userId", type, subject, data,
      created_at as "createdAt"
    from events
    where log_key < log_horizon() and (log_key, id) > (${after.logKey}, ${after.id})
      ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}
    order by log_key, id limit ${wanted.limit}`.execute(db)
  return rows.map(({ logKey, ...event }) => ({ ...event, place: { logKey, id: event.id } }))
}

/** Where the log ends now: what is written from here on comes after it. */
export async function endOfLog(db: Db): Promise<StreamPlace> {
  const { rows } = await sql<StreamPlace>`
    select log_key as "logKey", id from events where log_key < log_horizon()
    order by log_key desc, id desc limit 1`.execute(db)
  return rows[0] ?? { logKey: 0n, id: 0n }
}

function takes(filter: EveryonesFilter) {
  const { userId, type, status, from, until } = filter
  return sql.join(
    [
      sql`true`,
      ...(userId === undefined ? [] : [sql`t.user_id = ${userId}`]),
      ...(type === undefined ? [] : [sql`t.type = ${type}`]),
      ...(status === undefined ? [] : [sql`t.status = ${status}`]),
      ...(from === undefined ? [] : [sql`t.created_at >= ${from}`]),
      ...(until === undefined ? [] : [sql`t.created_at < ${until}`]),
    ],
    sql` and `,
  )
}
