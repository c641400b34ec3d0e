import type { Static } from 'typebox'

import type { Scope } from '../../../domain/access.ts'
import type { Transfer } from '../../../domain/ledger.ts'
import type { LedgerContext } from '../../../ledger/context.ts'
import { findTransfer, listTransfers } from '../../../store/ledger/transfers.ts'
import { IdParamsSchema } from '../../../wire/group-a/lists.ts'
import {
  TransferAnswerSchema,
  transferBody,
  TransferListSchema,
  type MintListQuerySchema,
  type TransferListQuerySchema,
  type TransferReadQuerySchema,
} from '../../../wire/group-a/transfers.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { idOf, readPage } from '../lists.ts'
import { notFound } from './sides.ts'
import { chainView } from './shown.ts'

type Words = { operationId: string; summary: string }
type ListQuery = typeof TransferListQuerySchema

/** Two operations: one transfer of these kinds, and a list of them. */
export function transferReads(of: {
  ledger: LedgerContext
  path: `/${string}`
  access: Scope
  kinds: readonly Transfer['kind'][]
  read: Words & { query?: typeof TransferReadQuerySchema }
  list: Words & { query: ListQuery | typeof MintListQuerySchema }
}): Endpoint[] {
  const { path, access, kinds, read, list } = of
  const view = chainView(of.ledger)
  const one = defineEndpoint({
    ...read,
    route: `GET ${path}/{id}`,
    tag: 'Transfers',
    access,
    params: IdParamsSchema,
    answer: TransferAnswerSchema,
    handle: async ({ params, caller, db }) => {
      const { userId, dialect } = caller
      const transfer = await findTransfer(db, { userId, id: params.id, kinds })
      if (!transfer) throw notFound('transfer', 2)
      return { data: transferBody(transfer, dialect, view) }
    },
  })
  const many = defineEndpoint({
    ...list,
    route: `GET ${path}`,
    tag: 'Transfers',
    access,
    answer: TransferListSchema,
    handle: async ({ query, caller, db }) => {
      const { userId, dialect } = caller
      const page = await readPage(query, async (id) => {
        return (await findTransfer(db, { userId, id, kinds }))?.seq
      })
      const { walletId, sourceWalletId, destinationWalletId }: Static<ListQuery> = query
      const filter = {
        userId,
        kinds,
        walletId: idOf(walletId),
        sourceWalletId: idOf(sourceWalletId),
        destinationWalletId: idOf(destinationWalletId),
      }
      const found = await listTransfers(db, filter, page)
      return { data: found.map((transfer) => transferBody(transfer, dialect, view)) }
    },
  })
  return [one, many]
}
