import { findEverywhere, type Found } from '../../../../store/access/everything.ts'
import {
  FoundListSchema,
  SearchQuerySchema,
  type FoundWire,
} from '../../../../wire/group-b/console.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export const everywhereEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/search',
  operationId: 'findEverywhere',
  summary: 'Search transactions, batches, breaks, runs, wallets and users',
  query: SearchQuerySchema,
  answer: FoundListSchema,
  handle: async ({ query, db }) => {
    const found = await findEverywhere(db, query.q.trim())
    return { success: true as const, found: onceEach(found.map(toFoundWire)) }
  },
})

function toFoundWire(found: Found): FoundWire {
  return {
    ...fieldsOf(found, 'kind', 'id', 'title', 'status', 'currency', 'createdAt'),
    amount_decimal: found.amount,
  }
}

/** A text may name one thing in more than one way. */
function onceEach(found: readonly FoundWire[]): FoundWire[] {
  return [...new Map(found.map((one) => [`${one.kind} ${one.id}`, one])).values()]
}
