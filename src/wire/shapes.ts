import { Type, type TObject, type TProperties, type TSchema } from 'typebox'

/** An object in a request: a field that it does not name is refused. */
export function requestObject<T extends TProperties>(
  properties: T,
  options: { description?: string; title?: string } = {},
): TObject<T> {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** A schema that the documents list under its own name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  return Object.assign(schema, { title: name, 'x-component': name })
}

export function namedObject<T extends TProperties>(
  name: string,
  properties: T,
  options?: { description?: string },
): TObject<T> {
  return named(name, Type.Object(properties, options))
}

export function namedRequest<T extends TProperties>(
  name: string,
  ...request: Parameters<typeof requestObject<T>>
): TObject<T> {
  return named(name, requestObject(...request))
}

/** What Group B answers where it has done what was asked for. */
export function namedAnswer<T extends TProperties>(name: string, properties: T) {
  return namedObject(name, { success: Type.Literal(true), ...properties })
}

export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()])
}

/** A whole number of the database that may be larger than a double holds exactly. */
export function int64(options: { description?: string; examples?: number[] } = {}) {
  return Type.Unsafe<number | bigint>({ type: 'integer', ...options })
}

export const TimestampSchema = Type.String({
  format: 'date-time',
  pattern: 'Z$',
  description: 'ISO 8601 in UTC.',
  examples: ['2025-03-14T09:26:53.589Z'],
})

/**
 * A moment in a request. Years that leave the four digits in UTC, leap seconds and names of zones
 * are moments in some standard, and none to a database.
 */
export const MomentSchema = Type.String({
  format: 'date-time',
  pattern:
    '^(?!9999-12-31.*-[0-9:]{5}$)[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]' +
    '([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$',
  description: 'ISO 8601 with a time zone.',
  examples: ['2025-04-10T02:13:30.000Z'],
})

export const UserIdSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, examples: [3] })

export const UuidSchema = Type.String({
  format: 'uuid',
  pattern: '^[0-9a-fA-F-]{36}$',
  examples: ['b3d9d2d5-4c12-4946-a09d-953e82fae2b0'],
})

/** A whole day. February 30th is not valid, and neither is any day before the year 1000. */
export const DaySchema = Type.String({
  format: 'date',
  pattern: '^[1-9][0-9]{3}-',
  examples: ['2025-03-14'],
})

export const LIST_LIMIT_MAX = 100

/** Of a list whose pages follow one another by a number. */
export const AfterSchema = Type.String({
  pattern: '^[1-9][0-9]{0,17}$',
  description: 'The `next_after` of the previous page.',
  examples: ['42'],
})

/** Larger values are taken as the largest, so the schema does not refuse them. */
export const ListLimitSchema = Type.Integer({
  minimum: 1,
  default: 50,
  description: `The maximum number of rows. More than ${LIST_LIMIT_MAX} counts as ${LIST_LIMIT_MAX}; the answer has the limit that was used.`,
  examples: [50],
})

/** What a list really uses, and echoes. */
export function effectiveLimit(limit: number): number {
  return Math.min(limit, LIST_LIMIT_MAX)
}

/** As QUITTANCE_CHAINS names it. */
export const ChainNameSchema = Type.String({
  pattern: '^[a-zA-Z0-9_-]{1,32}$',
  description: 'The name of a chain of this installation. Default: the default chain.',
  examples: ['base'],
})

/** On which chain something is. */
export const OnChainSchema = Type.String({
  description: 'The chain that it is on, by its name, or by its id if it no longer has a name.',
  examples: ['base'],
})

export const CoinSchema = Type.String({
  description: 'The native coin of the chain, in which gas is paid.',
  examples: ['ETH'],
})

/** Of a list: what is on this chain alone. */
export const ChainFilterSchema = Type.Optional({
  ...ChainNameSchema,
  description: 'Only what is on this chain.',
})

export const HASH_PATTERN = '^0x[0-9a-f]{64}$'

export const EthereumHashSchema = Type.String({
  pattern: HASH_PATTERN,
  examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
})

export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$'

export const EthereumAddressSchema = Type.String({
  pattern: ADDRESS_PATTERN,
  examples: ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
})

/** Of what a webhook's receiver answered: what it said may be the secret of another program. */
export const AnswerBytesSchema = nullable(
  Type.Integer({
    minimum: 0,
    description: 'The length of the body in bytes, counted up to 1,024. Its content is not stored.',
    examples: [0],
  }),
)
