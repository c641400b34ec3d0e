import {
  listEveryonesWallets,
  listSystemBalances,
  type OwnedWallet,
} from '../../../../store/ledger/everyones-ledger.ts'
import { decimalOf } from '../../../../wire/group-a/money.ts'
import {
  OwnedWalletListQuerySchema,
  OwnedWalletListSchema,
  type OwnedWalletWire,
} from '../../../../wire/group-b/ledger.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { idOf, pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'

export const everyonesWalletListEndpoint = defineEndpoint({
  route: 'GET /api/admin/wallets',
  tag: 'Administration',
  access: 'admin',
  operationId: 'listEveryonesWallets',
  summary: 'Lists the wallets of all users, oldest first, and what is in none',
  query: OwnedWalletListQuerySchema,
  answer: OwnedWalletListSchema,
  handle: async ({ query, db }) => {
    const { user_id: userId, wallet_id: walletId, after } = query
    const wanted = { userId, walletId: idOf(walletId), after: idOf(after) }
    const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
      listEveryonesWallets(db, { ...wanted, limit }),
    )
    const platform = await listSystemBalances(db)
    return {
      success: true as const,
      wallets: shown.map(toWalletWire),
      platform: platform.map(({ kind, currency, balance }) => ({
        account: kind,
        currency,
        balance: decimalOf(balance),
      })),
      next_after: last ? String(last.id) : null,
    }
  },
})

function toWalletWire(wallet: OwnedWallet): OwnedWalletWire {
  return {
    wallet_id: String(wallet.id),
    ...fieldsOf(wallet, 'userId', 'username', 'type', 'description', 'currency', 'createdAt'),
    balance: decimalOf(wallet.amount),
    held: decimalOf(wallet.held),
  }
}
