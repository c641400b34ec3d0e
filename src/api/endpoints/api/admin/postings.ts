import {
  listPostings,
  type PostingRow,
  type Side,
} from '../../../../store/ledger/everyones-ledger.ts'
import { decimalOf } from '../../../../wire/group-a/money.ts'
import {
  PostingListQuerySchema,
  PostingListSchema,
  type PostingWire,
} from '../../../../wire/group-b/ledger.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { idOf, pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export const postingListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/postings',
  operationId: 'listPostings',
  summary: 'List the postings of the ledger, of a wallet or of one record, newest first',
  query: PostingListQuerySchema,
  answer: PostingListSchema,
  handle: async ({ query, db }) => {
    const { wallet_id: walletId, subject, after } = query
    const wanted = { walletId: idOf(walletId), subject, after: idOf(after) }
    const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
      listPostings(db, { ...wanted, limit }),
    )
    return {
      success: true as const,
      postings: shown.map(toPostingWire),
      next_after: last ? String(last.id) : null,
    }
  },
})

function toPostingWire(posting: PostingRow): PostingWire {
  return {
    id: String(posting.id),
    ...fieldsOf(posting, 'kind', 'subject', 'currency'),
    from: toSideWire(posting.from),
    to: toSideWire(posting.to),
    amount: decimalOf(posting.amount),
    created_at: posting.postedAt.toISOString(),
  }
}

function toSideWire({ kind, walletId }: Side): PostingWire['from'] {
  return { account: kind, wallet_id: walletId === undefined ? null : String(walletId) }
}
