import { Type, type Static } from 'typebox'

import { WAYS_OUT } from '../../domain/spending.ts'
import { AnyCurrencySchema } from '../amounts.ts'
import {
  LIST_LIMIT_MAX,
  ListLimitSchema,
  namedAnswer,
  namedObject,
  nullable,
  requestObject,
  TimestampSchema,
  UserIdSchema,
} from '../shapes.ts'

const WayOutSchema = Type.Enum([...WAYS_OUT], {
  description:
    'How money leaves: paid on the `chain`, by a `mint`, by a `withdrawal` from a wallet to the ' +
    'chain, by `wire` (`POST /v1/payments`, and redeems from your own address), by a `transfer` ' +
    'to a bank (`POST /api/transfers`), or as a `refund`.',
  examples: ['chain'],
})

const LimitIdSchema = Type.String({ pattern: '^[1-9][0-9]{0,17}$', examples: ['42'] })

export const LimitListQuerySchema = requestObject({
  user_id: Type.Optional({ ...UserIdSchema, description: 'Default: the limits of everyone.' }),
  limit: ListLimitSchema,
  after: Type.Optional({ ...LimitIdSchema, description: 'The `next_after` of the previous page.' }),
})

const AmountSchema = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]{1,18})?$',
  examples: ['1000'],
})

const limitFields = (nothing: string) => ({
  per_transaction: nullable({ ...AmountSchema, description: `For one payment. Null: ${nothing}` }),
  per_day: nullable({ ...AmountSchema, description: `For one day (UTC). Null: ${nothing}` }),
  per_payee: nullable({
    ...AmountSchema,
    description: `For one day (UTC) and one address. Null: ${nothing}`,
  }),
})

const LIMIT_FIELDS = {
  way: WayOutSchema,
  currency: AnyCurrencySchema,
  user_id: nullable({ ...UserIdSchema, description: 'Null: everybody.' }),
}

const LimitsSchema = namedObject('Limits', {
  ...LIMIT_FIELDS,
  ...limitFields('there is none.'),
  used_today: nullable({
    ...AmountSchema,
    description:
      'What is used today (UTC) by the user, including failed payments. Null for everyone.',
  }),
})
export type LimitsWire = Static<typeof LimitsSchema>

const LimitChangeSchema = namedObject('LimitChange', {
  id: LimitIdSchema,
  ...LIMIT_FIELDS,
  ...limitFields('not set here.'),
  changed_by: Type.String({ examples: ['user:2'] }),
  changed_at: TimestampSchema,
})
export type LimitChangeWire = Static<typeof LimitChangeSchema>

export const LimitListSchema = namedAnswer('LimitList', {
  limits: Type.Array(LimitsSchema, { description: 'The limits that apply now, for each way out.' }),
  changes: Type.Array(LimitChangeSchema, {
    maxItems: LIST_LIMIT_MAX,
    description: 'What administrators have set, newest first: for the user, or for everyone.',
  }),
  next_after: nullable(LimitIdSchema),
})
export type LimitListWire = Static<typeof LimitListSchema>

const SettingSchema = (what: string) =>
  Type.Optional(
    nullable(
      Type.String({
        pattern: '^(0|[1-9][0-9]{0,12})(\\.[0-9]{1,18})?$',
        description: `${what} "0" allows no payment; null removes what was set here.`,
        examples: ['2500'],
      }),
    ),
  )

export const LimitSetSchema = requestObject({
  way: WayOutSchema,
  currency: AnyCurrencySchema,
  user_id: Type.Optional({ ...UserIdSchema, description: 'Default: for everyone.' }),
  per_transaction: SettingSchema('The most for one payment.'),
  per_day: SettingSchema('The most for one day (UTC).'),
  per_payee: SettingSchema('The most for one address in one day (UTC).'),
})

export const LimitAnswerSchema = namedAnswer('LimitAnswer', { ...LimitsSchema.properties })
