import { Type, type Static } from 'typebox'

import type { Wallet } from '../../domain/ledger.ts'
import { namedObject, requestObject } from '../shapes.ts'
import { IdempotencyKeySchema, pageQuery } from './lists.ts'
import { BalanceSchema, decimalOf, LedgerCurrencySchema, BalanceListSchema } from './money.ts'

export const WalletIdSchema = Type.String({
  pattern: '^[1-9][0-9]{0,17}$',
  examples: ['1000000001'],
})

export const WalletParamsSchema = requestObject({ walletId: WalletIdSchema })

export const WalletListQuerySchema = requestObject(pageQuery(WalletIdSchema))

export const WalletCreateSchema = requestObject({
  idempotencyKey: IdempotencyKeySchema,
  description: Type.Optional(Type.String({ maxLength: 100, examples: ['Savings'] })),
})

const WalletSchema = namedObject('Wallet', {
  walletId: WalletIdSchema,
  entityId: Type.String({ description: 'The owner.', examples: ['3'] }),
  type: Type.Enum(['merchant', 'end_user_wallet']),
  description: Type.String({ examples: ['Main wallet'] }),
  currency: LedgerCurrencySchema,
  balance: BalanceSchema,
  balances: BalanceListSchema,
})

export const WalletAnswerSchema = Type.Object({ data: WalletSchema })
export const WalletListSchema = Type.Object({ data: Type.Array(WalletSchema) })

export const ConfigurationSchema = Type.Object({
  data: Type.Object({ payments: Type.Object({ masterWalletId: WalletIdSchema }) }),
})

export const PingSchema = Type.Object({ message: Type.Literal('pong') })

export function walletBody(wallet: Wallet): Static<typeof WalletSchema> {
  const { id, userId, type, description, currency } = wallet
  const balance = decimalOf(wallet.amount)
  return {
    walletId: String(id),
    entityId: String(userId),
    type,
    description,
    currency,
    balance,
    balances: [{ amount: balance, currency }],
  }
}
