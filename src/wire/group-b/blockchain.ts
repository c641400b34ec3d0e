import { Type } from 'typebox'

import { AMOUNT_FIELDS, AmountInputSchema } from '../amounts.ts'
import { exactNumber, type ExactNumber } from '../json.ts'
import {
  EthereumAddressSchema,
  EthereumHashSchema,
  named,
  nullable,
  requestObject,
} from '../shapes.ts'
import { TransactionIdSchema } from './transactions.ts'

export const BlockchainCreateSchema = requestObject({
  to_address: {
    ...EthereumAddressSchema,
    description: 'Checked by EIP-55 when its case is mixed.',
  },
  amount: AmountInputSchema,
  currency: Type.Optional(
    Type.Enum(['ETH', 'USD'], {
      default: 'ETH',
      description: 'USD is the stablecoin of the installation, one token for one dollar.',
    }),
  ),
  description: Type.String({ minLength: 1, maxLength: 512, examples: ['Invoice 2025-014'] }),
  use_contract: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Pays through the settlement contract, once for ever for this order.',
    }),
  ),
})

export const BlockchainCreatedSchema = named(
  'BlockchainTransactionCreated',
  Type.Object({
    success: Type.Literal(true),
    transaction_id: TransactionIdSchema,
    eth_transaction_hash: EthereumHashSchema,
    from_address: EthereumAddressSchema,
    to_address: EthereumAddressSchema,
    ...AMOUNT_FIELDS,
    currency: Type.Enum(['ETH', 'USD']),
    status: Type.Literal('pending'),
  }),
)

export const BlockchainBalanceSchema = named(
  'BlockchainBalance',
  Type.Object({
    success: Type.Literal(true),
    address: EthereumAddressSchema,
    balance_eth: Type.Unsafe<ExactNumber>({ type: 'number', examples: [exactNumber('1.5')] }),
    balance_wei: Type.String({ pattern: '^[0-9]+$', examples: ['1500000000000000000'] }),
    tokens: Type.Array(
      Type.Object({
        currency: Type.Literal('USD'),
        symbol: nullable(Type.String({ examples: ['RUSD'] })),
        token: EthereumAddressSchema,
        balance: Type.Unsafe<ExactNumber>({ type: 'number', examples: [exactNumber('12.5')] }),
        balance_units: Type.String({
          description: 'The same in the smallest unit of the token.',
          pattern: '^[0-9]+$',
          examples: ['12500000'],
        }),
      }),
      { description: 'What a payment in another currency than ETH is paid with.' },
    ),
  }),
)
