import { BaseError } from '../../base/errors.ts'

/** The documents' schemas by name. */
export type Components = Record<string, Record<string, unknown>>

/**
 * A schema as the documents show it: named parts stand once under their name, and what a check
 * sees differently from the wire is replaced by what is on the wire.
 */
export function documentSchema(schema: unknown, components: Components): Record<string, unknown> {
  const {
    'x-component': name,
    'x-documented': documented,
    ...rest
  } = schema as Record<string, unknown>
  const plain = { ...rest, ...(documented as object | undefined) }
  if (typeof name !== 'string') return documentParts(plain, components)
  const known = components[name]
  const made = documentParts(plain, components)
  if (known && JSON.stringify(known) !== JSON.stringify(made)) throw new SameNameError(name)
  components[name] = made
  return { $ref: `#/components/schemas/${name}` }
}

function documentParts(
  schema: Record<string, unknown>,
  components: Components,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'properties' || keyword === 'patternProperties') {
        return [keyword, mapValues(value as object, (part) => documentSchema(part, components))]
      }
      if (SCHEMAS.includes(keyword) && typeof value === 'object') {
        return [keyword, documentSchema(value, components)]
      }
      if (LISTS.includes(keyword) && Array.isArray(value)) {
        return [keyword, value.map((part) => documentSchema(part, components))]
      }
      return [keyword, value]
    }),
  )
}

const SCHEMAS: readonly string[] = ['items', 'additionalProperties', 'not', 'propertyNames']
const LISTS: readonly string[] = ['anyOf', 'oneOf', 'allOf']

function mapValues<T>(record: object, map: (value: unknown) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}

class SameNameError extends BaseError {
  constructor(name: string) {
    super(`Two schemas are called ${name}. Rename one of them.`, { code: 'schema_name_taken' })
  }
}
