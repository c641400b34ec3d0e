import { sample, stringMatching } from 'fast-check'

import { exactNumber } from '../../../src/wire/json.ts'
import type { Random } from '../../fixtures/random.ts'

export type Schema = Readonly<Record<string, unknown>>

export type ValueContext = {
  random: Random
  components: Readonly<Record<string, Schema>>
  /** Ids that answers have named, of anybody. */
  ids: readonly string[]
}

/** A value that the schema takes, as far as a schema can say; rarely it is a stranger's id. */
export function valueOf(given: Schema, context: ValueContext): unknown {
  const { random } = context
  const schema = resolve(given, context)
  const examples = schema['examples'] as readonly unknown[] | undefined
  const { const: constant, enum: values, properties, items } = schema
  if (constant !== undefined) return constant
  if (Array.isArray(values)) return random.pick(values)
  if (examples?.length && properties === undefined && random.chance(0.4)) {
    return numberText(random.pick(examples))
  }
  const types = [schema['type']].flat().filter((type) => typeof type === 'string')
  const type = types.length > 0 ? random.pick(types) : properties ? 'object' : 'string'
  if (type === 'object') return objectOf(schema, context)
  if (type === 'array') {
    const count = random.below(Math.min(Number(schema['maxItems'] ?? 3), 3) + 1)
    return Array.from({ length: count }, () => valueOf((items ?? {}) as Schema, context))
  }
  if (type === 'null') return null
  if (type === 'boolean') return random.chance(0.5)
  if (type === 'integer') return integerOf(schema, random)
  if (type === 'number') return exactNumber(random.pick(AMOUNTS))
  return textOf(schema, context)
}

const AMOUNTS = ['1', '0.01', '12.5', '100', '0.000001', '1.000000000000000001', '9999999999999.99']

/** `$ref`, and one branch of a choice. */
function resolve(schema: Schema, context: ValueContext): Schema {
  const { $ref: reference, anyOf, oneOf, allOf } = schema
  if (typeof reference === 'string') {
    return resolve(context.components[reference.split('/').at(-1) ?? ''] ?? {}, context)
  }
  const choices = (anyOf ?? oneOf) as readonly Schema[] | undefined
  if (choices) return resolve({ ...schema, ...context.random.pick(choices), ...NO_CHOICE }, context)
  if (!Array.isArray(allOf)) return schema
  return Object.assign({}, schema, ...(allOf as Schema[]), { allOf: undefined }) as Schema
}

const NO_CHOICE = { anyOf: undefined, oneOf: undefined }

function objectOf(schema: Schema, context: ValueContext): Record<string, unknown> {
  const { random } = context
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>)
  const required = (schema['required'] ?? []) as readonly string[]
  const made = properties
    .filter(([name]) => required.includes(name) || random.chance(0.4))
    .map(([name, property]) => [name, valueOf(property, context)] as const)
  const [extra] = Object.values((schema['patternProperties'] ?? {}) as Record<string, Schema>)
  if (extra) made.push([`key${random.below(9)}`, valueOf(extra, context)])
  return Object.fromEntries(made)
}

function integerOf(schema: Schema, random: Random): number {
  const least = Number(schema['minimum'] ?? 0)
  const most = Number(schema['maximum'] ?? least + 1000)
  const among = [least, most, least + random.below(Math.min(most - least, 1000) + 1)]
  // Most ids of gateways and institutions are small.
  return random.pick([...among, Math.min(least + random.below(4), most)])
}

function textOf(schema: Schema, context: ValueContext): string {
  const { random, ids } = context
  const { pattern, format, minLength = 0, maxLength = 40 } = schema
  if (ids.length > 0 && random.chance(0.2)) return random.pick(ids)
  if (typeof format === 'string' && FORMATS[format]) return random.pick(FORMATS[format])
  if (typeof pattern === 'string') return random.pick(samplesOf(pattern))
  const length = random.pick([Number(minLength), Number(maxLength), 1 + random.below(20)])
  return random.pick(['a', 'é', '中', '🙂', ' ', '"', '\\', '<']).repeat(Math.max(length, 1))
}

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  date: ['2025-03-14', '2024-02-29', '1000-01-01', '9999-12-31'],
  'date-time': [
    '2025-03-14T09:26:53.589Z',
    '2025-03-14T23:26:53-14:00',
    '1000-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59.999999Z',
  ],
  email: ['a@example.com'],
  uri: ['http://127.0.0.1:9/hook', 'https://example.com/hook'],
  uuid: ['018f6d0e-7b54-7c3e-9d2f-0123456789ab'],
}

const samples = new Map<string, string[]>()

function samplesOf(pattern: string): string[] {
  const known = samples.get(pattern)
  if (known) return known
  const made = sample(stringMatching(new RegExp(pattern, 'u')), { numRuns: 30, seed: 1 })
  samples.set(pattern, made)
  return made
}

function numberText(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? exactNumber(`${value}`) : value
}
