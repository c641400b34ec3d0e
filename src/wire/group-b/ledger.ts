import { Type, type Static } from 'typebox'

import { WalletIdSchema } from '../group-a/wallets.ts'
import {
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  OnChainSchema,
  requestObject,
  TimestampSchema,
  UserIdSchema,
} from '../shapes.ts'

const DollarsSchema = Type.String({ pattern: '^-?[0-9]+\\.[0-9]{2,6}$', examples: ['1250.00'] })
const CurrencySchema = Type.String({ examples: ['USD'] })
const NextSchema = nullable(
  Type.String({ description: 'Send this as `after` for the next page; null on the last page.' }),
)

export const OwnedWalletListQuerySchema = requestObject({
  user_id: Type.Optional(UserIdSchema),
  wallet_id: Type.Optional(WalletIdSchema),
  limit: ListLimitSchema,
  after: Type.Optional({
    ...WalletIdSchema,
    description: 'The `next_after` of the previous page.',
  }),
})

const OwnedWalletSchema = namedObject('OwnedWallet', {
  wallet_id: WalletIdSchema,
  user_id: UserIdSchema,
  username: Type.String({ examples: ['alice'] }),
  type: Type.Enum(['merchant', 'end_user_wallet']),
  description: Type.String({ examples: ['Main wallet'] }),
  currency: CurrencySchema,
  balance: { ...DollarsSchema, description: 'What its user can spend.' },
  credit_line: {
    ...DollarsSchema,
    description: 'How far transfers to a bank can take the balance below zero.',
  },
  held: { ...DollarsSchema, description: 'The money held for payments and mints in progress.' },
  created_at: TimestampSchema,
})
export type OwnedWalletWire = Static<typeof OwnedWalletSchema>

export const OwnedWalletListSchema = namedAnswer('OwnedWalletList', {
  wallets: Type.Array(OwnedWalletSchema, { maxItems: LIST_LIMIT_MAX }),
  platform: Type.Array(
    Type.Object({
      account: Type.Enum(['bank', 'stablecoin', 'unclaimed', 'treasury']),
      chain: nullable(OnChainSchema),
      currency: CurrencySchema,
      balance: DollarsSchema,
    }),
    { description: 'The accounts that are not wallets. With all wallets they sum to zero.' },
  ),
  next_after: NextSchema,
})
export type OwnedWalletListWire = Static<typeof OwnedWalletListSchema>

export const WalletParamsSchema = requestObject({ wallet_id: WalletIdSchema })

export const CreditLineSchema = requestObject({
  credit_line: Type.String({
    pattern: '^(0|[1-9][0-9]{0,12})(\\.[0-9]{1,2})?$',
    description: 'In dollars. "0" ends the credit line.',
    examples: ['5000.00'],
  }),
})

export const CreditLineAnswerSchema = namedAnswer('CreditLine', {
  wallet_id: WalletIdSchema,
  credit_line: DollarsSchema,
})

const SubjectSchema = Type.String({
  minLength: 1,
  maxLength: 150,
  description: 'The id of a payment, a transfer or a transaction.',
  examples: ['0d9d7a3c-7a0e-4c39-8a3c-2f1b0f3f6f0e'],
})

const PostingIdSchema = Type.String({ pattern: '^[1-9][0-9]{0,17}$', examples: ['42'] })

export const PostingListQuerySchema = requestObject({
  wallet_id: Type.Optional(WalletIdSchema),
  subject: Type.Optional(SubjectSchema),
  limit: ListLimitSchema,
  after: Type.Optional({
    ...PostingIdSchema,
    description: 'The `next_after` of the previous page.',
  }),
})

const SideSchema = Type.Object({
  account: Type.Enum(['wallet', 'held', 'bank', 'stablecoin', 'unclaimed', 'treasury']),
  wallet_id: nullable(WalletIdSchema),
})

const PostingSchema = namedObject('Posting', {
  id: PostingIdSchema,
  kind: Type.Enum([
    'deposit',
    'transfer',
    'hold',
    'draw',
    'release',
    'pay_out',
    'return',
    'mint',
    'redeem',
    'unclaimed',
    'withdraw',
  ]),
  subject: SubjectSchema,
  from: SideSchema,
  to: SideSchema,
  currency: CurrencySchema,
  amount: DollarsSchema,
  created_at: TimestampSchema,
})
export type PostingWire = Static<typeof PostingSchema>

export const PostingListSchema = namedAnswer('PostingList', {
  postings: Type.Array(PostingSchema, { maxItems: LIST_LIMIT_MAX }),
  next_after: NextSchema,
})
export type PostingListWire = Static<typeof PostingListSchema>
