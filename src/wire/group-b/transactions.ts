import { Type, type Static } from 'typebox'

import { DECIMAL_PATTERN } from '../../domain/money.ts'
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/states.ts'
import { AMOUNT_FIELDS, AnyCurrencySchema } from '../amounts.ts'
import {
  DaySchema,
  EthereumAddressSchema,
  EthereumHashSchema,
  int64,
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  ChainFilterSchema,
  CoinSchema,
  OnChainSchema,
} from '../shapes.ts'
import { CHARGE_BACK_FIELDS } from './charges.ts'

export const TransactionTypeSchema = Type.Enum([...TRANSACTION_TYPES])
export const TransactionStatusSchema = Type.Enum([...TRANSACTION_STATUSES])

export const METADATA_KEY = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,40}$' })
export const METADATA_WORD = Type.String({ maxLength: 500 })

/** An id that nobody was given is not found; text that cannot be an id is refused. */
export const TransactionIdSchema = Type.String({
  pattern: '^[A-Za-z0-9]{1,64}$',
  description: 'TX followed by 20 digits.',
  examples: ['TX04419271330985127764'],
})

/** Of the client's own, which pays it at most once. */
export const ExternalIdSchema = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[!-~]+$',
  description: 'Your own id. A second payment with the same one is refused.',
  examples: ['invoice-2025-014'],
})

export const TransactionParamsSchema = requestObject({ transaction_id: TransactionIdSchema })

const ObjectionSchema = namedObject('Objection', {
  kind: Type.Enum(['break', 'alert']),
  id: Type.String({ examples: ['BRK0123456789abcdef01234567'] }),
  reason: Type.String({
    description: 'The kind of the break or of the alert.',
    examples: ['missing', 'reorg_after_final'],
  }),
  opened_at: TimestampSchema,
})
export type ObjectionWire = Static<typeof ObjectionSchema>

const TRANSACTION_FIELDS = {
  id: int64({ description: 'Internal id.', examples: [42] }),
  transaction_id: TransactionIdSchema,
  ...AMOUNT_FIELDS,
  currency: AnyCurrencySchema,
  type: TransactionTypeSchema,
  status: TransactionStatusSchema,
  description: Type.String({ examples: ['Invoice 2025-014'] }),
  eth_transaction_hash: nullable(EthereumHashSchema),
  external_id: nullable(ExternalIdSchema),
  batch_id: nullable(
    Type.String({
      description: 'The batch that it belongs to.',
      examples: ['BAT04419271330985127764'],
    }),
  ),
  chain: nullable(
    Type.Unsafe<string>({
      ...OnChainSchema,
      description: 'The chain on which it is paid or arrived; null if it touches no chain.',
    }),
  ),
  to_address: nullable(
    Type.Unsafe<string>({
      ...EthereumAddressSchema,
      description: 'The payee on the chain; null if it pays no address.',
    }),
  ),
  disputed_by: Type.Array(ObjectionSchema, {
    description:
      'Open breaks and alerts about it, oldest first. While there are any, do not rely ' +
      'on its status alone. Empty if record and chain agree.',
  }),
  created_at: TimestampSchema,
  updated_at: TimestampSchema,
}

export const TransactionSchema = namedObject('Transaction', TRANSACTION_FIELDS)
export type TransactionWire = Static<typeof TransactionSchema>

const AttemptSchema = namedObject('BlockchainAttempt', {
  eth_tx_hash: EthereumHashSchema,
  nonce: int64({ examples: [7] }),
  kind: Type.Enum(['payment', 'cancel', 'filler']),
  state: Type.Enum(['signed', 'mined', 'final', 'superseded']),
  max_fee_per_gas: int64({ description: 'In wei.', examples: [3_000_000_000] }),
  max_priority_fee_per_gas: int64({ description: 'In wei.', examples: [1_000_000_000] }),
  block_number: nullable(int64({ examples: [21_925_176] })),
  created_at: TimestampSchema,
})

export const ErrorReasonSchema = Type.String({
  description: 'The reason that the payee or the token gives for refusing a payment of a batch.',
  examples: ['The token has frozen the address.'],
})

export const BlockchainTransactionSchema = namedObject('BlockchainTransaction', {
  eth_tx_hash: EthereumHashSchema,
  from_address: EthereumAddressSchema,
  to_address: EthereumAddressSchema,
  ...AMOUNT_FIELDS,
  coin: CoinSchema,
  gas_used: nullable(int64({ description: 'Null until it is in a block.', examples: [21000] })),
  gas_price: nullable(int64({ description: 'In wei.', examples: [1_000_000_007] })),
  rollup_fee: nullable(
    int64({
      description:
        'In wei. What a rollup has charged besides gas: on the OP stack the fee for L1 and the ' +
        'fee of its operator. Null until it is in a block, and if others have sent it.',
      examples: [0],
    }),
  ),
  block_number: nullable(int64({ examples: [21_925_176] })),
  status: Type.Enum(['pending', 'confirmed', 'failed']),
  created_at: TimestampSchema,
  confirmations: int64({
    description:
      'The number of blocks from its own to the newest; 0 while its block is not part of the chain.',
    examples: [12],
  }),
  pending_reason: nullable(
    Type.String({
      description: 'Why it is still pending.',
      examples: ['waiting_for_finality', 'waiting_for_block', 'no_funds'],
    }),
  ),
  error_code: nullable(
    Type.String({ description: 'Why it failed. It is not paid.', examples: ['reverted'] }),
  ),
  error_reason: nullable(ErrorReasonSchema),
  reference: nullable(
    Type.Unsafe<string>({
      ...EthereumHashSchema,
      description:
        'The reference of the payment in the event of the settlement contract; null without the contract.',
    }),
  ),
  attempts: Type.Array(AttemptSchema, {
    description:
      'Every transaction that was signed for it, oldest first. At most one of them is mined.',
  }),
})

export type BlockchainTransactionWire = Static<typeof BlockchainTransactionSchema>
const TransactionMoveSchema = namedObject('TransactionMove', {
  status: TransactionStatusSchema,
  previous_status: nullable(TransactionStatusSchema),
  reason: Type.String({ examples: ['payment created'] }),
  created_at: TimestampSchema,
})

export const TransactionDetailSchema = namedAnswer('TransactionDetail', {
  ...TRANSACTION_FIELDS,
  user_id: Type.Integer({ examples: [3] }),
  institution_id: nullable(Type.Integer({ examples: [1] })),
  gateway_id: nullable(Type.Integer({ examples: [1] })),
  metadata: Type.Record(Type.String(), Type.String(), {
    description: 'The metadata of the payment.',
    examples: [{ order_id: '2025-014' }],
  }),
  ...CHARGE_BACK_FIELDS,
  blockchain_transaction: nullable(BlockchainTransactionSchema),
  history: Type.Array(TransactionMoveSchema, {
    description: 'Every status so far, oldest first.',
  }),
})
export const LIST_OFFSET_MAX = 1_000_000

const AmountBoundSchema = Type.String({ pattern: DECIMAL_PATTERN, examples: ['99.5'] })

/** What lists of transactions can be asked for; all that is given must fit. */
export const SEARCH_FIELDS = {
  chain: ChainFilterSchema,
  type: Type.Optional(TransactionTypeSchema),
  status: Type.Optional(TransactionStatusSchema),
  start_date: Type.Optional({
    ...DaySchema,
    description: 'From this day (UTC), which is included.',
  }),
  end_date: Type.Optional({ ...DaySchema, description: 'To this day (UTC), which is included.' }),
  hash: Type.Optional({
    ...EthereumHashSchema,
    description:
      'Those that this transaction on the chain pays or should pay: all attempts, and every ' +
      'arrival at a checkout.',
  }),
  reference: Type.Optional({
    ...EthereumHashSchema,
    description: 'The one with this reference on the chain.',
  }),
  external_id: Type.Optional({
    ...ExternalIdSchema,
    description: 'The one with this id of yours.',
  }),
  batch_id: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9]{1,64}$', description: 'The payments of this batch.' }),
  ),
  to_address: Type.Optional({
    ...EthereumAddressSchema,
    description:
      'Those that pay this address on a chain. If its case is mixed, its checksum (EIP-55) is verified.',
  }),
  metadata: Type.Optional(
    Type.Record(METADATA_KEY, METADATA_WORD, {
      minProperties: 1,
      maxProperties: 3,
      additionalProperties: false,
      description:
        'Those with this value in their metadata, such as `metadata[order_id]=2025-014`.',
      examples: [{ order_id: '2025-014' }],
    }),
  ),
  currency: Type.Optional({ ...AnyCurrencySchema, minLength: 1, maxLength: 32 }),
  min_amount: Type.Optional({
    ...AmountBoundSchema,
    description: 'Those with at least this amount in the `currency`, which is required.',
  }),
  max_amount: Type.Optional({
    ...AmountBoundSchema,
    description: 'Those with at most this amount in the `currency`, which is required.',
  }),
}

const TransactionSearchSchema = requestObject(SEARCH_FIELDS)
export type TransactionSearch = Static<typeof TransactionSearchSchema>

export const TransactionListQuerySchema = requestObject({
  ...SEARCH_FIELDS,
  limit: ListLimitSchema,
  offset: Type.Integer({
    minimum: 0,
    maximum: LIST_OFFSET_MAX,
    default: 0,
    description: 'The number of rows to skip. `cursor` is faster in a long list.',
  }),
  cursor: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{1,256}$',
      description: 'The `next_cursor` of the previous page.',
      examples: ['MTc0MTk0NDQxMzU4OSw0Mg'],
    }),
  ),
})
export type TransactionListQuery = Static<typeof TransactionListQuerySchema>

export const TotalIsExactSchema = Type.Boolean({
  description:
    'False if the filter is an address, a value of the metadata, a currency or an amount that ' +
    'more than 1,000 rows have. Then there are at least `total` rows. A page can have fewer than ' +
    'the limit, or none, and still a `next_cursor`: the search continues there.',
})

export const TransactionListSchema = namedAnswer('TransactionList', {
  transactions: Type.Array(TransactionSchema, { maxItems: LIST_LIMIT_MAX }),
  total: int64({ description: 'The number of rows that match the filters.', examples: [1] }),
  total_is_exact: TotalIsExactSchema,
  limit: Type.Integer({ description: 'The limit that was used.', examples: [50] }),
  offset: Type.Integer({ examples: [0] }),
  next_cursor: nullable(
    Type.String({
      description: 'The cursor of the next page; null on the last page.',
      examples: ['MTc0MTk0NDQxMzU4OSw0Mg'],
    }),
  ),
})
