import { LEDGER_DECIMALS, parseAmount } from '../../../../domain/money.ts'
import {
  listEveryonesWallets,
  listSystemBalances,
  type OwnedWallet,
} from '../../../../store/ledger/everyones-ledger.ts'
import { setCreditLine } from '../../../../store/ledger/wallets.ts'
import { RequestError } from '../../../../wire/errors.ts'
import { decimalOf } from '../../../../wire/group-a/money.ts'
import {
  CreditLineAnswerSchema,
  CreditLineSchema,
  OwnedWalletListQuerySchema,
  OwnedWalletListSchema,
  type OwnedWalletWire,
  WalletParamsSchema,
} from '../../../../wire/group-b/ledger.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { idOf, pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export const everyonesWalletListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/wallets',
  operationId: 'listEveryonesWallets',
  summary: 'List the wallets of all users, oldest first, and the accounts that are not wallets',
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
      platform: platform.map(({ kind, chain, currency, balance }) => ({
        account: kind,
        chain: chain ?? null,
        currency,
        balance: decimalOf(balance),
      })),
      next_after: last ? String(last.id) : null,
    }
  },
})

export const creditLineEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'POST /api/admin/wallets/{wallet_id}/credit-line',
  operationId: 'setCreditLine',
  summary: 'Set how far transfers to a bank can take a wallet below zero',
  params: WalletParamsSchema,
  body: CreditLineSchema,
  answer: CreditLineAnswerSchema,
  failures: ['conflict'],
  handle: async ({ params, body, db }) => {
    const walletId = BigInt(params.wallet_id)
    const text = body.credit_line
    const isNone = Number(text) === 0
    const creditLine = isNone ? 0n : parseAmount({ text, decimals: LEDGER_DECIMALS })
    const isSet = await setCreditLine(db, { walletId, creditLine })
    if (isSet === undefined) {
      throw new RequestError('not_found', 'No wallet has this id. Check it.')
    }
    if (!isSet) {
      const message =
        'The wallet has used more than this. Set a higher credit line, or wait until it is repaid.'
      throw new RequestError('conflict', message)
    }
    const { wallet_id } = params
    return { success: true as const, wallet_id, credit_line: decimalOf(creditLine) }
  },
})

function toWalletWire(wallet: OwnedWallet): OwnedWalletWire {
  return {
    wallet_id: String(wallet.id),
    ...fieldsOf(wallet, 'userId', 'username', 'type', 'description', 'currency', 'createdAt'),
    balance: decimalOf(wallet.amount),
    credit_line: decimalOf(wallet.creditLine),
    held: decimalOf(wallet.held),
  }
}
