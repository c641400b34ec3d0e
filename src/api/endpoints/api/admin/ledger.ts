import {
  listEveryonesWallets,
  listPostings,
  listSystemBalances,
  type OwnedWallet,
  type PostingRow,
  type Side,
} from '../../../../store/ledger/everyones-ledger.ts'
import { decimalOf } from '../../../../wire/group-a/money.ts'
import {
  OwnedWalletListQuerySchema,
  OwnedWalletListSchema,
  PostingListQuerySchema,
  PostingListSchema,
  type OwnedWalletWire,
  type PostingWire,
} from '../../../../wire/group-b/ledger.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'

const shared = { tag: 'Administration', access: 'admin' } as const

export const everyonesWalletListEndpoint = defineEndpoint({
  ...shared,
  route: 'GET /api/admin/wallets',
  operationId: 'listEveryonesWallets',
  summary: 'Lists the wallets of all users, oldest first, and what is in none',
  query: OwnedWalletListQuerySchema,
  answer: OwnedWalletListSchema,
  handle: async ({ query, db }) => {
    const limit = effectiveLimit(query.limit)
    const { user_id: userId, wallet_id: walletId, after } = query
    const wanted = { userId, walletId: idOf(walletId), after: idOf(after) }
    const found = await listEveryonesWallets(db, { ...wanted, limit: limit + 1 })
    const shown = found.slice(0, limit)
    const platform = await listSystemBalances(db)
    return {
      success: true as const,
      wallets: shown.map(toWalletWire),
      platform: platform.map(({ kind, currency, balance }) => ({
        account: kind,
        currency,
        balance: decimalOf(balance),
      })),
      next_after: found.length > limit ? String(shown.at(-1)?.id) : null,
    }
  },
})

export const postingListEndpoint = defineEndpoint({
  ...shared,
  route: 'GET /api/admin/postings',
  operationId: 'listPostings',
  summary: 'Lists the postings of the ledger, of a wallet or for one thing, newest first',
  query: PostingListQuerySchema,
  answer: PostingListSchema,
  handle: async ({ query, db }) => {
    const limit = effectiveLimit(query.limit)
    const { wallet_id: walletId, subject, after } = query
    const wanted = { walletId: idOf(walletId), subject, after: idOf(after) }
    const found = await listPostings(db, { ...wanted, limit: limit + 1 })
    const shown = found.slice(0, limit)
    return {
      success: true as const,
      postings: shown.map(toPostingWire),
      next_after: found.length > limit ? String(shown.at(-1)?.id) : null,
    }
  },
})

function idOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text)
}

function toWalletWire(wallet: OwnedWallet): OwnedWalletWire {
  return {
    wallet_id: String(wallet.id),
    user_id: wallet.userId,
    username: wallet.username,
    type: wallet.type,
    description: wallet.description,
    currency: wallet.currency,
    balance: decimalOf(wallet.amount),
    held: decimalOf(wallet.held),
    created_at: wallet.createdAt.toISOString(),
  }
}

function toPostingWire(posting: PostingRow): PostingWire {
  return {
    id: String(posting.id),
    kind: posting.kind,
    subject: posting.subject,
    from: toSideWire(posting.from),
    to: toSideWire(posting.to),
    currency: posting.currency,
    amount: decimalOf(posting.amount),
    created_at: posting.postedAt.toISOString(),
  }
}

function toSideWire({ kind, walletId }: Side): PostingWire['from'] {
  return { account: kind, wallet_id: walletId === undefined ? null : String(walletId) }
}
