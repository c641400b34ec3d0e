/** One value of a request or an answer, under the path by which a reader finds it. */
export type Field = { path: string; type: string; isRequired: boolean; description: string }

/** What a page reads of a schema. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly required?: readonly string[]
  readonly properties?: Schemas
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}
export type Schemas = Readonly<Record<string, Schema>>

/** What is deeper is in the document for programs. */
const MAX_DEPTH = 4

/** The fields of a schema in the order of the document, nested ones by their whole path. */
export function fieldsOf(schema: Schema, schemas: Schemas, base = '', depth = 0): Field[] {
  const { list, one } = takeOff(schema, schemas)
  const parts = alternativesOf(one, schemas)
  const fields = parts.flatMap((part) => {
    const required = part.required ?? []
    return Object.entries(part.properties ?? {}).flatMap(([name, property]) => {
      const path = `${base}${list}${base || list ? '.' : ''}${name}`
      const field = { path, ...describe(property, schemas), isRequired: required.includes(name) }
      return depth >= MAX_DEPTH ? [field] : [field, ...fieldsOf(property, schemas, path, depth + 1)]
    })
  })
  // Two forms of one object have fields in common.
  const known = new Set<string>()
  return fields.filter(({ path }) => !known.has(path) && known.add(path))
}

/** The type as a reader says it, and the description that stands next to it or behind its name. */
export function describe(schema: Schema, schemas: Schemas): Omit<Field, 'path' | 'isRequired'> {
  const whole = resolve(schema, schemas)
  const description = schema.description ?? whole.description ?? ''
  return { type: typeOf(whole, schemas), description }
}

function typeOf(schema: Schema, schemas: Schemas): string {
  const values = valuesOf(schema)
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ')
  const some = schema.anyOf
  if (some) {
    return [...new Set(some.map((one) => typeOf(resolve(one, schemas), schemas)))].join(' | ')
  }
  if (schema.type === 'array') {
    return `list of ${typeOf(resolve(schema.items ?? {}, schemas), schemas)}`
  }
  const type = [schema.type ?? 'any value'].flat().join(' | ')
  return schema.format === undefined ? type : `${type}, ${schema.format}`
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if ('const' in schema) return [schema.const]
  return schema.enum
}

function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = /^#\/components\/schemas\/(.*)$/.exec(schema.$ref ?? '')?.[1]
  return name === undefined ? schema : (schemas[name] ?? {})
}

/** A list is read by what it lists. */
function takeOff(schema: Schema, schemas: Schemas): { list: string; one: Schema } {
  const whole = resolve(schema, schemas)
  const [only, ...others] = alternativesOf(whole, schemas)
  const list = others.length === 0 ? (only ?? whole) : whole
  if (list.type !== 'array') return { list: '', one: whole }
  const { list: deeper, one } = takeOff(list.items ?? {}, schemas)
  return { list: `[]${deeper}`, one }
}

/** The forms that it can have, without nothing. */
function alternativesOf(schema: Schema, schemas: Schemas): Schema[] {
  const some = schema.anyOf
  if (!some) return [schema]
  return some.map((one) => resolve(one, schemas)).filter((one) => one.type !== 'null')
}
