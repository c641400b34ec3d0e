import { Type, type Static, type TSchema } from 'typebox'

import {
  AGE_BUCKETS,
  BREAK_KINDS,
  BREAK_MEANINGS,
  BREAK_REMEDIES,
  type BreakKind,
} from '../../domain/breaks.ts'
import { DECIMAL_PATTERN } from '../../domain/money.ts'
import {
  EthereumHashSchema,
  LIST_LIMIT_MAX,
  ListLimitSchema,
  MomentSchema,
  named,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  OnChainSchema,
  ChainNameSchema,
  ChainFilterSchema,
} from '../shapes.ts'

const CountSchema = Type.Integer({ minimum: 0, examples: [1204] })

const CursorSchema = Type.Optional(
  Type.String({ pattern: '^[0-9]{1,18}$', description: 'The `next_cursor` of the previous page.' }),
)

const RunIdSchema = Type.String({
  pattern: '^RUN[0-9a-f]{24}$',
  examples: ['RUN5f0c1d2e3a4b5c6d7e8f9a0b'],
})
export const RunParamsSchema = requestObject({ run_id: RunIdSchema })

export const RunSchema = namedObject('Run', {
  run_id: RunIdSchema,
  chain: OnChainSchema,
  source: Type.String({ examples: ['store'] }),
  state: Type.Enum(['queued', 'running', 'completed', 'failed']),
  phase: Type.Enum(['sweep', 'records', 'repeats', 'nonces'], {
    description: 'The part that is in progress; the parts are in this order.',
  }),
  records: CountSchema,
  records_expected: CountSchema,
  matched: CountSchema,
  pending: CountSchema,
  pending_by_cause: Type.Record(Type.String(), CountSchema),
  not_compared: CountSchema,
  not_compared_by_reason: Type.Record(Type.String(), CountSchema),
  breaks: CountSchema,
  breaks_by_kind: Type.Record(Type.String(), CountSchema),
  since: nullable(TimestampSchema),
  until: nullable(TimestampSchema),
  requested_by: Type.String({ examples: ['schedule', 'user:1'] }),
  error: nullable(Type.String({ description: 'Why it failed.' })),
  created_at: TimestampSchema,
  started_at: nullable(TimestampSchema),
  updated_at: TimestampSchema,
  ended_at: nullable(TimestampSchema),
})
export type RunWire = Static<typeof RunSchema>

export const RunCreateSchema = requestObject({
  chain: Type.Optional(ChainNameSchema),
  since: Type.Optional({
    ...MomentSchema,
    description: 'Only records created at this time or later.',
  }),
  until: Type.Optional({ ...MomentSchema, description: 'Only records created before this time.' }),
})

export const RunListQuerySchema = requestObject({
  chain: ChainFilterSchema,
  limit: ListLimitSchema,
  cursor: CursorSchema,
})

export const RunListSchema = named('RunList', pageOf('runs', RunSchema))

export const RunDetailSchema = namedAnswer('RunDetail', { run: RunSchema })

const BreakIdSchema = Type.String({
  pattern: '^BRK[0-9a-f]{24}$',
  examples: ['BRK367a8c56017457a392f7246d'],
})
export const BreakParamsSchema = requestObject({ break_id: BreakIdSchema })

const BreakKindSchema = Type.Enum([...BREAK_KINDS] as [BreakKind, ...BreakKind[]], {
  description: BREAK_KINDS.map(
    (kind) => `\`${kind}\`: ${BREAK_MEANINGS[kind]} ${BREAK_REMEDIES[kind]}`,
  ).join('\n\n'),
})
const AgeSchema = Type.Enum([...AGE_BUCKETS], { description: 'How long ago it was first seen.' })
const BreakStateSchema = Type.Enum(['open', 'closed'])
const FactsSchema = Type.Record(Type.String(), nullable(Type.String()))

const BREAK_FIELDS = {
  id: BreakIdSchema,
  chain: OnChainSchema,
  kind: BreakKindSchema,
  state: BreakStateSchema,
  closed_as: nullable(
    Type.Enum(['resolved', 'operator'], {
      description: 'True if a run closed it because its cause was gone.',
    }),
  ),
  source: Type.String({ examples: ['store'] }),
  transaction_id: nullable(Type.String()),
  eth_transaction_hash: nullable(EthereumHashSchema),
  recorded: FactsSchema,
  on_chain: FactsSchema,
  evidence: FactsSchema,
  meaning: Type.String({ description: 'What a break of this kind is.' }),
  remedy: Type.String({ description: 'What to do about it.' }),
  at_risk_decimal: nullable(
    Type.String({ description: 'The amount that it is about, if it names one.' }),
  ),
  at_risk_currency: nullable(
    Type.String({ description: 'The currency of that amount, if it is known.', examples: ['ETH'] }),
  ),
  age: AgeSchema,
  first_seen_at: TimestampSchema,
  last_seen_at: TimestampSchema,
  closed_at: nullable(TimestampSchema),
}

export const BreakSchema = namedObject('Break', BREAK_FIELDS)
export type BreakWire = Static<typeof BreakSchema>

const BreakMoveSchema = namedObject('BreakMove', {
  action: Type.Enum(['opened', 'reopened', 'resolved', 'closed', 'verified']),
  actor: Type.String({ examples: ['user:1', 'RUN5f0c1d2e3a4b5c6d7e8f9a0b'] }),
  note: nullable(Type.String()),
  at: TimestampSchema,
})

export const BreakDetailSchema = namedAnswer('BreakDetail', {
  break: BreakSchema,
  history: Type.Array(BreakMoveSchema, { description: 'Oldest first.' }),
})

export const BreakListQuerySchema = requestObject({
  chain: ChainFilterSchema,
  kind: Type.Optional(BreakKindSchema),
  state: Type.Optional(BreakStateSchema),
  age: Type.Optional(AgeSchema),
  transaction_id: Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' })),
  min_amount: Type.Optional(
    Type.String({
      pattern: DECIMAL_PATTERN,
      description: 'Only those that are about this amount or more.',
      examples: ['99.5'],
    }),
  ),
  limit: ListLimitSchema,
  cursor: CursorSchema,
})

export const BreakListSchema = named(
  'BreakList',
  pageOf('breaks', BreakSchema, { total: CountSchema }),
)

export const BreakCloseSchema = requestObject({
  note: Type.String({
    minLength: 1,
    maxLength: 1000,
    description:
      'Why nobody needs to act on it any longer. It opens again if other facts are found.',
    examples: ['Paid back by hand, see ticket 4711.'],
  }),
})

export const BreakVerifiedSchema = namedAnswer('BreakVerified', {
  result: Type.Enum(['stands', 'resolved', 'unclear'], {
    description:
      'Unclear if the nodes do not answer now, or if only a run over all records can decide.',
  }),
  break: BreakSchema,
})

function pageOf<Name extends string, Item extends TSchema, More extends Record<string, TSchema>>(
  name: Name,
  item: Item,
  more?: More,
) {
  return Type.Object({
    success: Type.Literal(true),
    ...({ [name]: Type.Array(item, { maxItems: LIST_LIMIT_MAX }) } as Record<
      Name,
      ReturnType<typeof Type.Array<Item>>
    >),
    ...(more ?? ({} as More)),
    next_cursor: nullable(
      Type.String({ description: 'The cursor of the next page; null on the last page.' }),
    ),
  })
}
