import { sql } from 'kysely'

import type { Endpoint } from '../../src/api/endpoint.ts'
import { createIdempotently } from '../../src/api/idempotently.ts'
import type { Db } from '../../src/store/database.ts'
import type { User } from '../../src/store/users.ts'
import { callerOf, makeUser } from './access.ts'
import { startApi, type ApiAnswer } from './api.ts'

export type RailsApi = {
  alice: User
  bob: User
  /** Alice asks, unless it is somebody else. */
  get: (url: string, as?: User) => Promise<ApiAnswer>
  post: (url: string, body: unknown, options?: { key?: string; as?: User }) => Promise<ApiAnswer>
}

/** Operations that move money, over HTTP and on a real database, with two users. */
export async function startRailsApi(
  db: Db,
  endpoints: readonly Endpoint[],
  users?: Pick<RailsApi, 'alice' | 'bob'>,
): Promise<RailsApi> {
  const { alice, bob } = users ?? { alice: await makeUser(db), bob: await makeUser(db) }
  const api = await startApi({
    endpoints,
    hooks: {
      db,
      idempotently: createIdempotently({ db }),
      authenticate: async (headers) =>
        callerOf(headers['x-api-key'] === bob.username ? bob : alice),
    },
  })
  const headersOf = (user: User, key?: string) => ({
    'x-api-key': user.username,
    ...(key !== undefined && { 'idempotency-key': key }),
  })
  return {
    alice,
    bob,
    get: async (url, as = alice) => api.send({ url, headers: headersOf(as) }),
    post: async (url, body, options = {}) =>
      api.send({
        method: 'POST',
        url,
        headers: headersOf(options.as ?? alice, options.key),
        ...(body !== undefined && { body }),
      }),
  }
}

export async function countRows(db: Db, table: string): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) from ${sql.table(table)}`.execute(db)
  return rows[0]?.count ?? 0n
}
