import type { ListPlace } from '../../../../store/transactions/found.ts'
import { listTransactions } from '../../../../store/transactions/list.ts'
import {
  TransactionListQuerySchema,
  TransactionListSchema,
  type TransactionListQuery,
} from '../../../../wire/group-b/transactions.ts'
import type { RequestError } from '../../../../wire/errors.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import type { Chains } from '../../../chains.ts'
import { placeOfCursor } from '../../lists.ts'
import { cut, readSearch } from './search.ts'
import { toTransactionWires } from './wire.ts'

export function transactionListEndpoint({ chains }: { chains: Chains }): Endpoint {
  return defineEndpoint({
    route: 'GET /api/transactions',
    operationId: 'listTransactions',
    summary: 'List your transactions, newest first',
    tag: 'Transactions',
    access: 'transactions:read',
    query: TransactionListQuerySchema,
    answer: TransactionListSchema,
    handle: async ({ query, caller, db }) => {
      const limit = effectiveLimit(query.limit)
      const page = query.cursor === undefined ? { offset: query.offset } : { after: placeOf(query) }
      const filter = { userId: caller.userId, ...readSearch(chains, query) }
      // One more shows whether there is a next page.
      const found = await listTransactions(db, filter, { ...page, limit: limit + 1 })
      if (!found.isExact && query.offset > found.total) throw offsetTooDeep()
      const { shown, next } = cut(found, limit)
      return {
        success: true as const,
        transactions: await toTransactionWires(db, shown),
        total: found.total,
        total_is_exact: found.isExact,
        limit,
        offset: query.offset,
        next_cursor: next,
      }
    },
  })
}

function placeOf(query: TransactionListQuery): ListPlace {
  if (query.offset !== 0) {
    const message = 'A cursor has its own position. Leave the offset out.'
    throw invalidRequest([{ field: 'query.offset', code: 'conflict', message }])
  }
  return placeOfCursor(query.cursor ?? '')
}

/** So many pass that no more of them are counted than this offset skips. */
function offsetTooDeep(): RequestError {
  const message = 'Too many rows match these filters to skip them. Use next_cursor instead.'
  return invalidRequest([{ field: 'query.offset', code: 'too_deep', message }])
}
