import type { Hex } from '../../../../domain/orders.ts'
import { listTransactions, type ListPlace } from '../../../../store/transactions/list.ts'
import {
  TransactionListQuerySchema,
  TransactionListSchema,
  type TransactionListQuery,
} from '../../../../wire/group-b/transactions.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { cursorOf, dayRange, placeOfCursor } from '../../lists.ts'
import { toTransactionWires } from './wire.ts'

export const transactionListEndpoint = defineEndpoint({
  route: 'GET /api/transactions',
  operationId: 'listTransactions',
  summary: 'Lists your transactions, newest first',
  tag: 'Transactions',
  access: 'transactions:read',
  query: TransactionListQuerySchema,
  answer: TransactionListSchema,
  handle: async ({ query, caller, db }) => {
    const limit = effectiveLimit(query.limit)
    const page = query.cursor === undefined ? { offset: query.offset } : { after: placeOf(query) }
    const { type, status, hash, reference, external_id: externalId, batch_id: batchId } = query
    const onChain = { hash: hash as Hex | undefined, reference: reference as Hex | undefined }
    const named = { ...onChain, externalId, batchId }
    const filter = { userId: caller.userId, type, status, ...named, ...dayRange(query) }
    // One more tells whether there is a next page.
    const found = await listTransactions(db, filter, { ...page, limit: limit + 1 })
    const shown = found.transactions.slice(0, limit)
    const last = found.transactions.length > limit ? shown.at(-1) : undefined
    return {
      success: true as const,
      transactions: await toTransactionWires(db, shown),
      total: found.total,
      limit,
      offset: query.offset,
      next_cursor: last ? cursorOf(last) : null,
    }
  },
})

function placeOf(query: TransactionListQuery): ListPlace {
  if (query.offset !== 0) {
    const message = 'A cursor is a place already. Leave the offset out.'
    throw invalidRequest([{ field: 'query.offset', code: 'conflict', message }])
  }
  return placeOfCursor(query.cursor ?? '')
}
