import { Type, type Static } from 'typebox'

import { BATCH_STATUSES, MAX_BATCH, ON_FAILURE } from '../../domain/batches.ts'
import { AMOUNT_FIELDS, AmountInputSchema, AnyCurrencySchema } from '../amounts.ts'
import { exactNumber, type ExactNumber } from '../json.ts'
import {
  AfterSchema,
  EthereumAddressSchema,
  EthereumHashSchema,
  int64,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  ChainFilterSchema,
  OnChainSchema,
  ChainNameSchema,
  CoinSchema,
} from '../shapes.ts'
import { DescriptionSchema, MetadataSchema } from './payments.ts'
import {
  ErrorReasonSchema,
  ExternalIdSchema,
  TransactionIdSchema,
  TransactionStatusSchema,
} from './transactions.ts'

const ToAddressSchema = {
  ...EthereumAddressSchema,
  description: 'If its case is mixed, its checksum (EIP-55) is verified.',
}

const ChainCurrencySchema = Type.String({
  minLength: 1,
  maxLength: 32,
  description:
    'The native coin of the chain (ETH, on Polygon POL), USD for its stablecoin (one token is ' +
    'one dollar), or the symbol of another configured token. Default: the native coin. ' +
    'The balance lists them.',
  examples: ['USD'],
})

const OWN_FIELDS = {
  metadata: Type.Optional(MetadataSchema),
  external_id: Type.Optional(ExternalIdSchema),
}

export const BlockchainCreateSchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
  to_address: ToAddressSchema,
  amount: AmountInputSchema,
  currency: Type.Optional(ChainCurrencySchema),
  description: DescriptionSchema,
  ...OWN_FIELDS,
  use_contract: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Pays through the settlement contract, which pays an order once. A token is paid with a ' +
        'permit in one transaction if it has permits, otherwise after an allowance.',
    }),
  ),
})

export const BlockchainCreatedSchema = namedAnswer('BlockchainTransactionCreated', {
  transaction_id: TransactionIdSchema,
  chain: OnChainSchema,
  eth_transaction_hash: EthereumHashSchema,
  from_address: EthereumAddressSchema,
  to_address: EthereumAddressSchema,
  ...AMOUNT_FIELDS,
  currency: AnyCurrencySchema,
  status: Type.Literal('pending'),
})

export const BatchCreateSchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
  currency: Type.Optional(ChainCurrencySchema),
  on_failure: Type.Optional(
    Type.Enum([...ON_FAILURE], {
      default: 'all_or_nothing',
      description:
        'What happens if one payment cannot be made: nothing is paid, or each of the others is. ' +
        '`all_or_nothing` is one transaction on the chain, so its gas limits the number of items.',
    }),
  ),
  items: Type.Array(
    requestObject({
      to_address: ToAddressSchema,
      amount: AmountInputSchema,
      description: Type.Optional({ ...DescriptionSchema, default: 'Payment of a batch' }),
      ...OWN_FIELDS,
    }),
    { minItems: 1, maxItems: MAX_BATCH },
  ),
})
export type BatchCreate = Static<typeof BatchCreateSchema>

export const BatchIdSchema = Type.String({
  pattern: '^[A-Za-z0-9]{1,64}$',
  description: 'BAT followed by 20 digits.',
  examples: ['BAT04419271330985127764'],
})

export const BatchParamsSchema = requestObject({ batch_id: BatchIdSchema })

const SumSchema = Type.Object({ count: Type.Integer({ examples: [3] }), ...AMOUNT_FIELDS })

export const BATCH_FIELDS = {
  batch_id: BatchIdSchema,
  chain: OnChainSchema,
  status: Type.Enum([...BATCH_STATUSES], {
    description:
      'Pending until the last payment is final. Then it says whether all, some or none were paid.',
  }),
  currency: AnyCurrencySchema,
  on_failure: Type.Enum([...ON_FAILURE]),
  count: Type.Integer({ examples: [100] }),
  ...AMOUNT_FIELDS,
  created_at: TimestampSchema,
  completed_at: nullable(TimestampSchema),
  sums: Type.Object(
    {
      pending: SumSchema,
      processing: SumSchema,
      completed: SumSchema,
      failed: SumSchema,
    },
    { description: 'The number and the sum of the payments in each state.' },
  ),
}

const BatchSchema = namedObject('Batch', BATCH_FIELDS)
export type BatchWire = Static<typeof BatchSchema>

export const BatchCreatedSchema = namedAnswer('BatchCreated', {
  ...BATCH_FIELDS,
  from_address: EthereumAddressSchema,
  transactions: Type.Array(TransactionIdSchema, {
    description: 'The transaction of each item, in the order of the items.',
  }),
})

export const BatchEstimateSchema = namedAnswer('BatchEstimate', {
  chain: OnChainSchema,
  coin: CoinSchema,
  currency: AnyCurrencySchema,
  count: Type.Integer({ examples: [100] }),
  ...AMOUNT_FIELDS,
  from_address: EthereumAddressSchema,
  chain_transactions: Type.Integer({
    description: 'The number of transactions on the chain.',
    examples: [1],
  }),
  gas: int64({ description: 'The maximum. Unused gas is not paid.', examples: [1_500_000] }),
  fee_wei: Type.String({
    description: 'The maximum cost of that gas at the current price.',
    pattern: '^[0-9]+$',
    examples: ['3000000000000000'],
  }),
  contracts: Type.Array(Type.Integer(), {
    description: 'The indexes of items whose payee is a contract, which can refuse the payment.',
  }),
})

export const BatchQuerySchema = requestObject({
  from: Type.Integer({
    minimum: 0,
    maximum: MAX_BATCH,
    default: 0,
    description: 'The index of the first item to return.',
  }),
  limit: ListLimitSchema,
})

const BatchItemSchema = namedObject('BatchItem', {
  index: Type.Integer({ examples: [0] }),
  transaction_id: TransactionIdSchema,
  external_id: nullable(Type.String()),
  to_address: EthereumAddressSchema,
  ...AMOUNT_FIELDS,
  currency: AnyCurrencySchema,
  status: TransactionStatusSchema,
  eth_transaction_hash: nullable(EthereumHashSchema),
  reference: {
    ...EthereumHashSchema,
    description: 'The reference of the payment in the event of the settlement contract.',
  },
  error_code: nullable(Type.String({ description: 'Why it failed.', examples: ['payee_refused'] })),
  error_reason: nullable(ErrorReasonSchema),
})
export type BatchItemWire = Static<typeof BatchItemSchema>

/** A page of what became of the payments. */
export const BATCH_ITEMS = {
  items: Type.Array(BatchItemSchema),
  next_from: nullable(
    Type.Integer({ description: 'The index of the next page; null on the last page.' }),
  ),
}

export const BatchDetailSchema = namedAnswer('BatchDetail', { ...BATCH_FIELDS, ...BATCH_ITEMS })

export const BatchListQuerySchema = requestObject({
  chain: ChainFilterSchema,
  after: Type.Optional(AfterSchema),
  limit: ListLimitSchema,
})

export const BatchListSchema = namedAnswer('BatchList', {
  batches: Type.Array(BatchSchema),
  next_after: nullable(
    Type.String({ description: 'The cursor of the next page; null on the last page.' }),
  ),
})

export const BlockchainBalanceQuerySchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
})

export const BlockchainBalanceSchema = namedAnswer('BlockchainBalance', {
  chain: OnChainSchema,
  coin: CoinSchema,
  address: EthereumAddressSchema,
  balance_eth: Type.Unsafe<ExactNumber>({
    type: 'number',
    description: 'In the native coin of the chain, which `coin` names.',
    examples: [exactNumber('1.5')],
  }),
  balance_wei: Type.String({ pattern: '^[0-9]+$', examples: ['1500000000000000000'] }),
  tokens: Type.Array(
    Type.Object({
      currency: AnyCurrencySchema,
      decimals: Type.Integer({ description: 'Of the token.', examples: [6] }),
      symbol: nullable(Type.String({ examples: ['RUSD'] })),
      token: EthereumAddressSchema,
      balance: Type.Unsafe<ExactNumber>({ type: 'number', examples: [exactNumber('12.5')] }),
      balance_units: Type.String({
        description: 'The same in the smallest unit of the token.',
        pattern: '^[0-9]+$',
        examples: ['12500000'],
      }),
    }),
    { description: 'The tokens that pay the other currencies.' },
  ),
})
