import { Type, type Static } from 'typebox'

import { ROUTES } from '../../domain/orders.ts'
import { AMOUNT_FIELDS } from '../amounts.ts'
import {
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
  UserIdSchema,
  ChainNameSchema,
  CoinSchema,
  OnChainSchema,
} from '../shapes.ts'
import { BATCH_FIELDS, BATCH_ITEMS, BatchListQuerySchema } from './blockchain.ts'
import { ArrivalSchema, CHARGE_BACK_FIELDS } from './charges.ts'
import { EVENT_FIELDS } from './events.ts'
import {
  BlockchainTransactionSchema,
  SEARCH_FIELDS,
  TotalIsExactSchema,
  TransactionIdSchema,
  TransactionSchema,
  TransactionStatusSchema,
} from './transactions.ts'

const WeiSchema = Type.String({ pattern: '^[0-9]+$', examples: ['1500000000000000000'] })

const TotalsSchema = namedObject('SettledTotals', {
  count: Type.Integer({ examples: [12] }),
  amount_wei: WeiSchema,
  amount_decimal: Type.String({ description: 'In the coin of the chain.', examples: ['1.5'] }),
})

const ProviderHealthSchema = namedObject('ProviderHealth', {
  name: Type.String({ examples: ['rpc.example'] }),
  state: Type.Enum(['well', 'failing', 'paused', 'wrong_chain']),
  score: Type.Integer({ description: 'From 0 to 100.', examples: [98] }),
  latency_ms: Type.Integer({ description: 'The average over its latest answers.', examples: [42] }),
  answered_percent: Type.Integer({ description: 'Of its latest calls.', examples: [100] }),
  failures: Type.Integer({ description: 'Consecutive, up to now.', examples: [0] }),
})

/** Selects the chain that the answer is about. */
export const OfChainQuerySchema = requestObject({ chain: Type.Optional(ChainNameSchema) })

export const OverviewSchema = namedAnswer('Overview', {
  at: TimestampSchema,
  environment: Type.String({ examples: ['sandbox'] }),
  chain_id: Type.Integer({ examples: [31_337] }),
  chain: OnChainSchema,
  coin: CoinSchema,
  chains: Type.Array(
    Type.Object({
      chain: OnChainSchema,
      chain_id: Type.Integer({ examples: [8453] }),
      code: Type.String({ description: 'As Group A names it.', examples: ['BASE'] }),
      coin: CoinSchema,
    }),
    { description: 'The chains of this installation, the default one first.' },
  ),
  since: TimestampSchema,
  claimed: TotalsSchema,
  settled: TotalsSchema,
  in_flight: Type.Object({
    count: Type.Integer({ examples: [3] }),
    oldest_seconds: Type.Integer({ examples: [41] }),
    by_age: Type.Array(
      Type.Object({
        under_seconds: nullable(Type.Integer({ examples: [60] })),
        count: Type.Integer({ examples: [3] }),
      }),
      { description: 'Each row counts what no row before it counts.' },
    ),
  }),
  head: nullable(
    Type.Object({
      block_number: int64({ examples: [21_925_176] }),
      final_number: nullable(int64({ examples: [21_925_165] })),
      updated_at: TimestampSchema,
    }),
  ),
  alerts: Type.Array(
    Type.Object({
      kind: Type.String({ examples: ['reorg_after_final'] }),
      count: Type.Integer({ examples: [1] }),
      since: TimestampSchema,
    }),
  ),
  providers: Type.Array(ProviderHealthSchema),
})
export type OverviewWire = Static<typeof OverviewSchema>

export const SampleListQuerySchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
  hours: Type.Integer({
    minimum: 1,
    maximum: 720,
    default: 24,
    description: 'How many hours back.',
    examples: [24],
  }),
})

export const SampleListSchema = namedAnswer('OverviewSampleList', {
  samples: Type.Array(
    Type.Object({
      at: TimestampSchema,
      claimed_wei: WeiSchema,
      settled_wei: WeiSchema,
      in_flight: Type.Integer({ examples: [3] }),
      oldest_seconds: Type.Integer({ examples: [41] }),
      providers_well: Type.Integer({ examples: [2] }),
      open_breaks: nullable(Type.Integer({ examples: [0] })),
      supply: nullable(
        Type.String({
          description: 'The supply of the stablecoin on the chain.',
          examples: ['1250.00'],
        }),
      ),
      liability: nullable(
        Type.String({ description: 'What the ledger owes for it.', examples: ['1250.00'] }),
      ),
    }),
  ),
})
export type SampleListWire = Static<typeof SampleListSchema>

const OWNER_FIELDS = {
  user_id: UserIdSchema,
  username: Type.String({ examples: ['alice'] }),
}

export const OwnedTransactionSchema = namedObject('OwnedTransaction', {
  ...TransactionSchema.properties,
  ...OWNER_FIELDS,
})
export type OwnedTransactionWire = Static<typeof OwnedTransactionSchema>

export const OwnedListQuerySchema = requestObject({
  user_id: Type.Optional(UserIdSchema),
  ...SEARCH_FIELDS,
  eth_transaction_hash: Type.Optional(EthereumHashSchema),
  sort: Type.Optional(
    Type.Enum(['newest', 'oldest', 'largest', 'smallest'], {
      default: 'newest',
      description:
        '`oldest` takes the filters `user_id`, `type`, `status`, `start_date` and `end_date`. ' +
        '`largest` and `smallest` sort by the amount in one `currency`, which is required, and ' +
        'take the filters `user_id`, `min_amount` and `max_amount`.',
      examples: ['largest'],
    }),
  ),
  limit: ListLimitSchema,
  cursor: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{1,256}$',
      description: 'The `next_cursor` of the previous page.',
      examples: ['MTc0MTk0NDQxMzU4OSw0Mg'],
    }),
  ),
})

export const OwnedListSchema = namedAnswer('OwnedTransactionList', {
  transactions: Type.Array(OwnedTransactionSchema, { maxItems: LIST_LIMIT_MAX }),
  total: Type.Optional(
    Type.Integer({
      description:
        'On the first page: the number of rows that match the filters, counted up to 100,000.',
      examples: [1],
    }),
  ),
  total_is_exact: Type.Optional(TotalIsExactSchema),
  next_cursor: nullable(
    Type.String({
      description: 'The cursor of the next page; null on the last page.',
      examples: ['MTc0MQ'],
    }),
  ),
})
export type OwnedListWire = Static<typeof OwnedListSchema>

export const OwnedBatchListQuerySchema = requestObject({
  user_id: Type.Optional(UserIdSchema),
  ...BatchListQuerySchema.properties,
})

const OwnedBatchSchema = namedObject('OwnedBatch', { ...BATCH_FIELDS, ...OWNER_FIELDS })

export const OwnedBatchListSchema = namedAnswer('OwnedBatchList', {
  batches: Type.Array(OwnedBatchSchema, { maxItems: LIST_LIMIT_MAX }),
  next_after: nullable(
    Type.String({ description: 'The cursor of the next page; null on the last page.' }),
  ),
})
export type OwnedBatchListWire = Static<typeof OwnedBatchListSchema>

export const OwnedBatchDetailSchema = namedAnswer('OwnedBatchDetail', {
  ...BATCH_FIELDS,
  ...OWNER_FIELDS,
  ...BATCH_ITEMS,
})
export type OwnedBatchDetailWire = Static<typeof OwnedBatchDetailSchema>

const LifeMoveSchema = namedObject('LifeMove', {
  status: TransactionStatusSchema,
  previous_status: nullable(TransactionStatusSchema),
  actor: Type.String({ examples: ['user:3'] }),
  reason: Type.String({ examples: ['signed and on its way'] }),
  created_at: TimestampSchema,
})

const LifeAttemptSchema = namedObject('LifeAttempt', {
  ...BlockchainTransactionSchema.properties.attempts.items.properties,
  gas: int64({ description: 'The maximum gas that it can use.', examples: [60_000] }),
  gas_used: nullable(int64({ examples: [39_199] })),
  block_hash: nullable(EthereumHashSchema),
  succeeded: nullable(Type.Boolean()),
  sent_at: nullable(TimestampSchema),
  last_sent_at: nullable(TimestampSchema),
  last_answer: nullable(
    Type.String({ description: 'The latest answer of the providers.', examples: ['accepted'] }),
  ),
})

const LifeOrderSchema = namedObject('LifeOrder', {
  reference: Type.String({ pattern: '^0x[0-9a-f]{64}$' }),
  route: Type.Enum([...ROUTES]),
  contract: nullable(Type.String({ examples: ['0x864D5E07A138DD70801c6E5f646630409Ba0E96b'] })),
  state: Type.Enum(['accepted', 'mined', 'completed', 'failed']),
  error_code: nullable(Type.String({ examples: ['reverted'] })),
  cancel_code: nullable(Type.String({ examples: ['stuck'] })),
  accepted_at: TimestampSchema,
  updated_at: TimestampSchema,
  attempts: Type.Array(LifeAttemptSchema),
})

export const TransactionLifeSchema = namedAnswer('TransactionLife', {
  ...OwnedTransactionSchema.properties,
  institution_id: nullable(Type.Integer({ examples: [1] })),
  gateway_id: nullable(Type.Integer({ examples: [1] })),
  metadata: Type.Record(Type.String(), Type.String(), { examples: [{ order_id: '2025-014' }] }),
  ...CHARGE_BACK_FIELDS,
  arrivals: Type.Array(ArrivalSchema, {
    description: 'Crypto checkout: oldest first; if there are more than 300, the largest ones.',
  }),
  blockchain_transaction: nullable(BlockchainTransactionSchema),
  order: nullable(LifeOrderSchema),
  history: Type.Array(LifeMoveSchema, { description: 'Every status so far, oldest first.' }),
  receipt_path: nullable(Type.String({ description: 'The page for the payee.' })),
})
export type TransactionLifeWire = Static<typeof TransactionLifeSchema>

export const LifeParamsSchema = requestObject({ transaction_id: TransactionIdSchema })

export const StreamEventSchema = namedObject('StreamEvent', {
  user_id: UserIdSchema,
  ...EVENT_FIELDS,
})
export type StreamEventWire = Static<typeof StreamEventSchema>

export const ReceiptSchema = namedAnswer('Receipt', {
  token: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  path: Type.String({ description: 'The page for the payee.', examples: ['/r/…'] }),
  quittance_path: Type.String({ description: 'The file that proves it.' }),
  created_at: TimestampSchema,
})
export type ReceiptWire = Static<typeof ReceiptSchema>

/** The payment on the chain as it is recorded; the proof in the quittance must be of the same. */
const PaidSchema = namedObject('PaidOnChain', {
  to_address: EthereumAddressSchema,
  amount_units: Type.String({
    description:
      'In the smallest unit. Of a checkout that was paid in parts, the part that completed it.',
    pattern: '^[0-9]+$',
  }),
  token: nullable(EthereumAddressSchema),
  reference: nullable(EthereumHashSchema),
  contract: nullable(EthereumAddressSchema),
})

/** What the payee's page shows. The proof is in the quittance. */
export const ReceiptFactsSchema = namedAnswer('ReceiptFacts', {
  transaction_id: TransactionIdSchema,
  ...AMOUNT_FIELDS,
  currency: Type.String(),
  /** Set where the currency is the symbol of a token, or of another coin than ether. */
  token_decimals: nullable(Type.Integer()),
  description: Type.String(),
  status: TransactionStatusSchema,
  eth_transaction_hash: nullable(EthereumHashSchema),
  created_at: TimestampSchema,
  /** A node that the visitor can reach, where it is the sandbox's own. */
  rpc_url: nullable(Type.String()),
  /** Null where nothing is recorded of it any more. */
  paid: nullable(PaidSchema),
})
export type ReceiptFactsWire = Static<typeof ReceiptFactsSchema>
