import { randomBytes } from 'node:crypto'

import { createAccess } from '../../src/api/access.ts'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { createIdempotently } from '../../src/api/idempotently.ts'
import type { PagesOptions } from '../../src/api/pages.ts'
import { transactionListEndpoint } from '../../src/api/group-b/transactions-list.ts'
import { systemClock } from '../../src/base/clock.ts'
import { consoleEndpoints, type Operating } from '../../src/app/console.ts'
import type { Db } from '../../src/store/database.ts'
import { ensureSigningKey } from '../../src/store/signing-keys.ts'
import type { User } from '../../src/store/users.ts'
import { makeKey, makeUser } from './access.ts'
import { startApi, type Api, type ApiAnswer, type ApiRequest } from './api.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { freshDatabase } from './database.ts'
import { operatingOf } from './operating.ts'

export type AdminApi = {
  db: Db
  clock: TestClock
  api: Api
  alice: User
  admin: User
  /** The administrator asks, unless it is the other one, or another key. */
  send: (request: ApiRequest, as?: string) => Promise<ApiAnswer>
  keys: { admin: string; alice: string }
}

/** What the console asks, with an administrator, a user, and their real keys. */
export async function startAdminApi(
  parts: Partial<Operating> = {},
  /** The console itself, for a browser. */
  loadPages?: PagesOptions['loadPages'],
): Promise<AdminApi> {
  const { db } = await freshDatabase()
  const clock = createTestClock()
  await ensureSigningKey(db)
  const admin = await makeUser(db, { username: 'operator', scopes: ['admin'] })
  const alice = await makeUser(db, { username: 'alice' })
  const keys = {
    admin: (await makeKey(db, { user: admin })).text,
    alice: (await makeKey(db, { user: alice, name: 'laptop' })).text,
  }
  const environment = 'sandbox' as const
  const { authenticate, limitRate, forgetUser } = createAccess({ db, clock, environment })
  const operating = operatingOf(parts)
  const endpoints: Endpoint[] = [
    transactionListEndpoint,
    // A browser follows events for as long as it looks, by a clock that goes on by itself.
    ...consoleEndpoints({
      clock: loadPages ? systemClock : clock,
      environment,
      operating,
      forgetUser,
    }),
  ]
  const idempotently = createIdempotently({ db })
  const hooks = { db, authenticate, limitRate, idempotently }
  const server = loadPages && { pages: { db, loadPages, visitorRpcUrl: undefined } }
  const api = await startApi({ endpoints, hooks, ...(server && { server }) })
  return {
    db,
    clock,
    api,
    alice,
    admin,
    keys,
    send: (request, as = 'admin') => {
      const key = as === 'admin' || as === 'alice' ? keys[as] : as
      return api.send({ ...request, headers: { 'x-api-key': key, ...request.headers } })
    },
  }
}

export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}
