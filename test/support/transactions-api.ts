import { eventListEndpoint } from '../../src/api/group-b/events.ts'
import { transactionDetailEndpoint } from '../../src/api/group-b/transaction-detail.ts'
import { transactionListEndpoint } from '../../src/api/group-b/transactions-list.ts'
import type { Db } from '../../src/store/database.ts'
import type { User } from '../../src/store/users.ts'
import { RequestError } from '../../src/wire/errors.ts'
import { callerOf, makeUser } from './access.ts'
import { startApi, type ApiAnswer } from './api.ts'
import { freshDatabase } from './database.ts'

export type TransactionsApi = {
  db: Db
  alice: User
  bob: User
  /** Alice asks, unless it is somebody else. */
  get: (url: string, as?: User) => Promise<ApiAnswer>
}

/** What reads transactions, over HTTP, with two users whose name is their credential. */
export async function startTransactionsApi(): Promise<TransactionsApi> {
  const { db } = await freshDatabase()
  const alice = await makeUser(db)
  const bob = await makeUser(db)
  const api = await startApi({
    endpoints: [transactionListEndpoint, transactionDetailEndpoint, eventListEndpoint],
    hooks: {
      db,
      async authenticate(headers) {
        const user = [alice, bob].find(({ username }) => username === headers['x-api-key'])
        if (!user) throw new RequestError('unauthorized', 'Send a name.')
        return callerOf(user)
      },
    },
  })
  return {
    db,
    alice,
    bob,
    get: (url, as = alice) => api.send({ url, headers: { 'x-api-key': as.username } }),
  }
}
