import { withUsernames } from '../../../../store/access/everyone.ts'
import { findBatch, listBatches, listBatchItems } from '../../../../store/transactions/batches.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  OwnedBatchDetailSchema,
  OwnedBatchListQuerySchema,
  OwnedBatchListSchema,
} from '../../../../wire/group-b/admin.ts'
import { BatchParamsSchema, BatchQuerySchema } from '../../../../wire/group-b/blockchain.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { wantedChain, type Chains } from '../../../chains.ts'
import { idOf, pageOf } from '../../lists.ts'
import { toBatchWire, toItemWire } from '../blockchain/batch-wire.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export function everyonesBatchListEndpoint({ chains }: { chains: Chains }): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/batches',
    operationId: 'listEveryonesBatches',
    summary: 'List the batches of all users, newest first',
    query: OwnedBatchListQuerySchema,
    answer: OwnedBatchListSchema,
    handle: async ({ query, db }) => {
      const { user_id: userId, after } = query
      const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
        listBatches(db, {
          userId,
          chainId: wantedChain(chains, query),
          before: idOf(after),
          limit,
        }),
      )
      const batches = await withUsernames(db, shown)
      return {
        success: true as const,
        batches: batches.map((one) => ({
          ...toBatchWire(one),
          ...fieldsOf(one, 'userId', 'username'),
        })),
        next_after: last ? String(last.id) : null,
      }
    },
  })
}

export const everyonesBatchEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/batches/{batch_id}',
  operationId: 'readEveryonesBatch',
  summary: 'Read a batch of any user with the state of its items',
  params: BatchParamsSchema,
  query: BatchQuerySchema,
  answer: OwnedBatchDetailSchema,
  handle: async ({ params, query, db }) => {
    const batch = await findBatch(db, { batchId: params.batch_id })
    if (!batch) throw new RequestError('not_found', 'There is no batch with this id.')
    const { batchId } = batch
    const { shown: items, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
      listBatchItems(db, { batchId, from: query.from, limit }),
    )
    const [owned] = await withUsernames(db, [batch])
    return {
      success: true as const,
      ...toBatchWire(batch),
      ...fieldsOf(owned!, 'userId', 'username'),
      items: items.map((item) => toItemWire(item, batch)),
      next_from: last ? last.place + 1 : null,
    }
  },
})
