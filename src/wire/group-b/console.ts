import { Type, type Static } from 'typebox'

import {
  ENDPOINT_STATES,
  NOTIFICATION_TYPES,
  type NotificationType,
} from '../../domain/notifications.ts'
import {
  AfterSchema,
  ChainNameSchema,
  EthereumHashSchema,
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  UserIdSchema,
} from '../shapes.ts'

export const FOUND_KINDS = [
  'transaction',
  'batch',
  'break',
  'run',
  'wallet',
  'transfer',
  'user',
] as const

export const SearchQuerySchema = requestObject({
  q: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
    description:
      'A hash, an address, an id in any case, an external id, an amount, the start of a ' +
      'username, or a part of a description of the newest transactions.',
    examples: ['TX04419271330985127764'],
  }),
})

const FoundSchema = namedObject('Found', {
  kind: Type.Enum([...FOUND_KINDS]),
  id: Type.String({ examples: ['TX04419271330985127764'] }),
  title: Type.String({ examples: ['Invoice 2025-014'] }),
  status: nullable(Type.String({ examples: ['completed'] })),
  amount_decimal: nullable(Type.String({ examples: ['99.5'] })),
  currency: nullable(Type.String({ examples: ['USD'] })),
  created_at: nullable(TimestampSchema),
})
export type FoundWire = Static<typeof FoundSchema>

export const FoundListSchema = namedAnswer('FoundList', {
  found: Type.Array(FoundSchema, { description: 'The best matches first, a few of each kind.' }),
})
export type FoundListWire = Static<typeof FoundListSchema>

export const MOVEMENT_KINDS = ['mint', 'redeem', 'wire'] as const

export const MovementListQuerySchema = requestObject({
  kind: Type.Enum([...MOVEMENT_KINDS]),
  user_id: Type.Optional(UserIdSchema),
  after: Type.Optional(AfterSchema),
  limit: ListLimitSchema,
})

const MovementSchema = namedObject('Movement', {
  id: Type.String({ examples: ['b3d9d2d5-4c12-4946-a09d-953e82fae2b0'] }),
  kind: Type.Enum([...MOVEMENT_KINDS]),
  user_id: UserIdSchema,
  username: Type.String({ examples: ['alice'] }),
  wallet_id: Type.String({ examples: ['1000000001'] }),
  amount_decimal: Type.String({ examples: ['99.50'] }),
  currency: Type.String({ examples: ['USD'] }),
  status: Type.String({ examples: ['complete'] }),
  error_code: nullable(Type.String({ examples: ['payment_would_fail'] })),
  to: nullable(
    Type.String({ description: 'An address, or the payee.', examples: ['Grace Hopper'] }),
  ),
  transaction_hash: nullable(EthereumHashSchema),
  created_at: TimestampSchema,
  updated_at: TimestampSchema,
})
export type MovementWire = Static<typeof MovementSchema>

export const MovementListSchema = namedAnswer('MovementList', {
  movements: Type.Array(MovementSchema, { maxItems: LIST_LIMIT_MAX }),
  next_after: nullable(
    Type.String({ description: 'The cursor of the next page; null on the last page.' }),
  ),
})
export type MovementListWire = Static<typeof MovementListSchema>

export const DisputeListQuerySchema = requestObject({ limit: ListLimitSchema })

const OwnedDisputeSchema = namedObject('OwnedDispute', {
  dispute_id: Type.String({ examples: ['dp_1MtwBwLkdIwHu7ix28a3tqPa'] }),
  transaction_id: Type.String({ examples: ['TX04419271330985127764'] }),
  user_id: UserIdSchema,
  username: Type.String({ examples: ['alice'] }),
  status: nullable(Type.String({ examples: ['needs_response'] })),
  reason: nullable(Type.String({ examples: ['fraudulent'] })),
  amount_decimal: nullable(Type.String({ examples: ['99.50'] })),
  currency: Type.String({ examples: ['USD'] }),
  created_at: TimestampSchema,
})
export type OwnedDisputeWire = Static<typeof OwnedDisputeSchema>

export const DisputeListSchema = namedAnswer('OwnedDisputeList', {
  disputes: Type.Array(OwnedDisputeSchema, { maxItems: LIST_LIMIT_MAX }),
})
export type DisputeListWire = Static<typeof DisputeListSchema>

export const StatisticsQuerySchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
  days: Type.Integer({
    minimum: 1,
    maximum: 90,
    default: 30,
    description: 'The number of days, including today.',
    examples: [30],
  }),
})

const DaySumSchema = Type.Object({ currency: Type.String(), amount_decimal: Type.String() })

const StatisticsDaySchema = namedObject('StatisticsDay', {
  day: Type.String({ format: 'date', examples: ['2025-03-14'] }),
  transactions: Type.Integer({ examples: [120] }),
  failed: Type.Integer({ examples: [1] }),
  volume: Type.Array(DaySumSchema, { description: 'Of completed transactions, by currency.' }),
  final_p50_ms: nullable(Type.Integer({ examples: [14_200] })),
  final_p95_ms: nullable(Type.Integer({ examples: [31_900] })),
  fees_wei: Type.String({ pattern: '^[0-9]+$', examples: ['2100000000000000'] }),
  breaks_opened: Type.Integer({ examples: [0] }),
  breaks_closed: Type.Integer({ examples: [0] }),
})

export const StatisticsSchema = namedAnswer('Statistics', {
  at: TimestampSchema,
  days: Type.Array(StatisticsDaySchema, {
    description: 'In UTC, oldest first, without the days before the first transaction.',
  }),
})
export type StatisticsWire = Static<typeof StatisticsSchema>

export const WebhookEndpointListQuerySchema = requestObject({
  user_id: Type.Optional(UserIdSchema),
  after: Type.Optional(AfterSchema),
  limit: ListLimitSchema,
})

const WebhookEndpointSchema = namedObject('WebhookEndpoint', {
  id: Type.String({ examples: ['7'] }),
  subscription_id: Type.String({ examples: ['b3d9d2d5-4c12-4946-a09d-953e82fae2b0'] }),
  user_id: UserIdSchema,
  username: Type.String({ examples: ['alice'] }),
  url: Type.String({ examples: ['https://example.com/hooks'] }),
  types: Type.Array(
    Type.Enum([...NOTIFICATION_TYPES] as [NotificationType, ...NotificationType[]]),
  ),
  status: Type.Enum([...ENDPOINT_STATES]),
  disabled_code: nullable(Type.String({ examples: ['failing'] })),
  failing_since: nullable(TimestampSchema),
  waiting: Type.Integer({
    description: 'The number of its deliveries in progress.',
    examples: [0],
  }),
  created_at: TimestampSchema,
})
export type WebhookEndpointWire = Static<typeof WebhookEndpointSchema>

export const WebhookEndpointListSchema = namedAnswer('WebhookEndpointList', {
  endpoints: Type.Array(WebhookEndpointSchema, { maxItems: LIST_LIMIT_MAX }),
  next_after: nullable(
    Type.String({ description: 'The cursor of the next page; null on the last page.' }),
  ),
})
export type WebhookEndpointListWire = Static<typeof WebhookEndpointListSchema>

export const AlertParamsSchema = requestObject({
  alert_id: Type.String({ pattern: '^[1-9][0-9]{0,17}$', examples: ['7'] }),
})

export const AlertNoteSchema = requestObject({
  note: Type.String({
    minLength: 1,
    maxLength: 300,
    pattern: '\\S',
    description:
      'What is known about it. The alert stays open until the chain shows that its cause is gone.',
    examples: ['The exchange confirmed the reorg; ticket 4711.'],
  }),
})

const AlertSchema = namedObject('Alert', {
  id: Type.String({ examples: ['7'] }),
  kind: Type.String({ examples: ['reorg_after_final'] }),
  chain: ChainNameSchema,
  remedy: Type.String({ description: 'What to do about it.' }),
  transaction_id: nullable(Type.String({ examples: ['TX04419271330985127764'] })),
  eth_transaction_hash: EthereumHashSchema,
  opened_at: TimestampSchema,
  note: nullable(Type.String({ examples: ['Ticket 4711'] })),
  acknowledged_by: nullable(Type.String({ examples: ['user:1'] })),
  acknowledged_at: nullable(TimestampSchema),
})
export type AlertWire = Static<typeof AlertSchema>

export const AlertListSchema = namedAnswer('AlertList', {
  alerts: Type.Array(AlertSchema, { description: 'The open alerts, oldest first.' }),
})
export type AlertListWire = Static<typeof AlertListSchema>

export const AlertNotedSchema = namedAnswer('AlertAcknowledged', {
  alert_id: Type.String({ examples: ['7'] }),
})
