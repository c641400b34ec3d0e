import type { TSchema } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import { Compile } from 'typebox/schema'

import { DECIMAL_PATTERN } from '../../domain/money.ts'
import { amountSentence } from '../../wire/amounts.ts'
import { RequestError, type FieldProblem } from '../../wire/errors.ts'
import { isExactNumber } from '../../wire/json.ts'
import { ADDRESS_PATTERN, HASH_PATTERN } from '../../wire/shapes.ts'
import type { Group } from '../server/headers.ts'
import type { Endpoint } from './endpoint.ts'

export type RequestParts = { params: unknown; query: unknown; body: unknown }

/**
 * One check that names every wrong field at once. Its schemas are compiled for the first request,
 * so that a start does not wait for those of all endpoints.
 */
export function createChecks(endpoint: Endpoint): (parts: RequestParts) => RequestParts {
  const { group } = endpoint
  const checkParams = createCheck({ group, schema: endpoint.params, prefix: 'path.' })
  const checkQuery = createCheck({ group, schema: endpoint.query, prefix: 'query.' })
  const checkBody = createCheck({ group, schema: endpoint.body, prefix: '' })
  return (parts) => {
    const { query, problems } = readQuery(endpoint.query, parts.query)
    const wrongIds = checkParams(parts.params ?? {})
    if (wrongIds.length > 0 && areWords(parts.params)) throw endpoint.unknown?.() ?? nothingThere()
    problems.push(...wrongIds, ...checkQuery(query))
    problems.push(...(bodyProblems(endpoint, parts.body) ?? checkBody(parts.body)))
    if (problems.length > 0) throw invalidRequest(problems)
    return { params: parts.params, query, body: endpoint.body ? parts.body : undefined }
  }
}

/** The refusal of a request for the fields that are named. */
export function invalidRequest(problems: readonly FieldProblem[]): RequestError {
  const [first] = problems
  const sentence =
    problems.length === 1 && first
      ? `${first.field}: ${first.message}`
      : `${problems.length} fields are not valid. Correct those that the details name.`
  return new RequestError('invalid_request', sentence, { problems })
}

function areWords(params: unknown): boolean {
  return Object.values(params ?? {}).every((value) => /^[\w-]{1,64}$/.test(String(value)))
}

/** A word that is not an id is as unknown as an id that nobody has. Other text is refused. */
function nothingThere(): RequestError {
  return new RequestError('not_found', 'Nothing has this id. Check it.')
}

function bodyProblems(endpoint: Endpoint, body: unknown): FieldProblem[] | undefined {
  if (endpoint.body && body === undefined) {
    if (endpoint.isBodyOptional) return []
    return [{ field: 'body', code: 'required', message: 'Send a JSON object as the body.' }]
  }
  if (endpoint.body) {
    const misplaced = misplacedNumbers({ schema: endpoint.body, value: body, at: [] })
    return misplaced.length > 0 ? misplaced : undefined
  }
  if (body === undefined) return []
  const empty = typeof body === 'object' && body !== null && Object.keys(body).length === 0
  return empty && !Array.isArray(body)
    ? []
    : [{ field: 'body', code: 'unknown_field', message: 'This operation takes no body.' }]
}

/**
 * To the validator an exact number is an object like any other, and would pass for one. It may
 * stand only where the schema's own check knows what it is.
 */
function misplacedNumbers(options: {
  schema: unknown
  value: unknown
  at: readonly string[]
}): FieldProblem[] {
  const { value, at } = options
  const schema = (options.schema ?? {}) as SchemaParts
  if (isExactNumber(value)) {
    if (schema['x-documented'] !== undefined) return []
    const message = 'Send a whole number without an exponent, and with fewer digits.'
    return [{ field: nameOf(at) || 'body', code: 'type', message }]
  }
  if (typeof value !== 'object' || value === null) return []
  if (schema.anyOf) {
    const found = schema.anyOf.map((form) => misplacedNumbers({ schema: form, value, at }))
    return found.toSorted((a, b) => a.length - b.length)[0] ?? []
  }
  return Object.entries(value).flatMap(([name, part]) => {
    const [pattern] = Object.values(schema.patternProperties ?? {})
    const inner = Array.isArray(value) ? schema.items : (schema.properties?.[name] ?? pattern)
    return misplacedNumbers({ schema: inner, value: part, at: [...at, name] })
  })
}

type SchemaParts = {
  'x-documented'?: unknown
  anyOf?: unknown[]
  items?: unknown
  properties?: Record<string, unknown>
  patternProperties?: Record<string, unknown>
}

const NOTHING: TSchema = { type: 'object', additionalProperties: false }

function createCheck(options: { group: Group; schema: TSchema | undefined; prefix: string }) {
  const { group, schema, prefix } = options
  let validator: ReturnType<typeof Compile> | undefined
  return (value: unknown): FieldProblem[] => {
    validator ??= Compile(schema ?? NOTHING)
    if (validator.Check(value)) return []
    return validator.Errors(value)[1].flatMap((error, _index, all) => {
      const problems = problemsOf({ error, all, prefix })
      const wrong = group === 'a' ? scalarAt(value, error.instancePath) : undefined
      return wrong === undefined ? problems : problems.map((one) => ({ ...one, value: wrong }))
    })
  }
}

/** Group A repeats the value that was wrong; it has no field whose value is a secret. */
function scalarAt(value: unknown, path: string): unknown {
  let found = value
  for (const name of pathOf(path)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  if (typeof found === 'string') return found.slice(0, MAX_VALUE)
  return typeof found === 'object' && !isExactNumber(found) ? undefined : found
}

/** Query parameters arrive as text; each becomes what its schema says, and nothing is guessed. */
function readQuery(
  schema: TSchema | undefined,
  given: unknown,
): { query: Record<string, unknown>; problems: FieldProblem[] } {
  const known = propertiesOf(schema)
  const query: Record<string, unknown> = {}
  const problems: FieldProblem[] = []
  for (const [name, value] of Object.entries(given ?? {})) {
    const text: unknown = value
    if (Array.isArray(text)) {
      const field = `query.${nameOf([name])}`
      problems.push({ field, code: 'duplicate_key', message: 'Send this parameter once.' })
      continue
    }
    // `metadata[order_id]` is a word of the parameter `metadata`, where that has words.
    const [, of = '', word = ''] = /^([a-z_]+)\[(.+)\]$/.exec(name) ?? []
    if (isOfType(known[of], 'object')) {
      const words = (query[of] ??= {}) as Record<string, unknown>
      define(words, word, text)
    } else define(query, name, readText(known[name], String(text)))
  }
  for (const [name, property] of Object.entries(known)) {
    if ('default' in property && !Object.hasOwn(query, name)) query[name] = property['default']
  }
  return { query, problems }
}

/** Whatever the name is, such as that of a prototype. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true })
}

function isOfType(schema: TSchema | undefined, type: string): boolean {
  return schema !== undefined && 'type' in schema && schema.type === type
}

function readText(schema: TSchema | undefined, text: string): unknown {
  if (isOfType(schema, 'integer') && WHOLE_NUMBER.test(text)) {
    // A number beyond the safe ones is beyond every bound as well.
    const limit = Number.MAX_SAFE_INTEGER
    return Math.max(-limit, Math.min(limit, Number(text)))
  }
  if (isOfType(schema, 'boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const WHOLE_NUMBER = /^(?:0|-?[1-9][0-9]{0,99})$/

function propertiesOf(schema: TSchema | undefined): Record<string, TSchema> {
  return schema && 'properties' in schema ? (schema.properties as Record<string, TSchema>) : {}
}

/** Names come from outside; an answer does not repeat more of them than helps. */
const MAX_NAME = 64
const MAX_NAMES = 20
const MAX_VALUE = 100

function problemsOf(options: {
  error: TLocalizedValidationError
  all: readonly TLocalizedValidationError[]
  prefix: string
}): FieldProblem[] {
  const { error, prefix } = options
  const at = pathOf(error.instancePath)
  const field = (name?: string): string => {
    return prefix + nameOf(name === undefined ? at : [...at, name]) || 'body'
  }
  if (error.keyword === 'required') {
    const message = 'This field is required.'
    const names = error.params.requiredProperties
    return names.map((name) => ({ field: field(name), code: 'required', message }))
  }
  if (error.keyword === 'additionalProperties') {
    const message = 'This field is unknown. Leave it out, or correct its name.'
    const names = error.params.additionalProperties.slice(0, MAX_NAMES)
    return names.map((name) => ({ field: field(name), code: 'unknown_field', message }))
  }
  if (error.keyword === '~refine') {
    const code = error.params.message
    return [
      {
        field: field(),
        code,
        message: amountSentence(code) ?? 'This value is not valid. Correct it.',
      },
    ]
  }
  // The first says once more, and less clearly, which field is unknown; what is wrong in each form
  // of a union says less than that none of them fits.
  if (error.keyword === 'boolean' || isInsideUnion(error, options.all)) return []
  return [{ field: field(), code: error.keyword, ...describe(error) }]
}

function isInsideUnion(
  error: TLocalizedValidationError,
  all: readonly TLocalizedValidationError[],
): boolean {
  return all.some(
    (other) =>
      other.keyword === 'anyOf' &&
      other.instancePath === error.instancePath &&
      error.schemaPath.startsWith(`${other.schemaPath}/anyOf`),
  )
}

function describe(error: TLocalizedValidationError): Pick<FieldProblem, 'message' | 'constraints'> {
  const constraints: Record<string, unknown> = { ...error.params }
  return { message: sentenceOf(error), constraints }
}

function sentenceOf(error: TLocalizedValidationError): string {
  if (error.keyword === 'enum') return `Send one of ${error.params.allowedValues.join(', ')}.`
  if (error.keyword === 'format') return `This ${error.params.format} does not exist. Correct it.`
  if (error.keyword === 'anyOf')
    return 'The value has a wrong form. Send it as the documentation shows.'
  const known = error.keyword === 'pattern' ? FORMS.get(String(error.params.pattern)) : undefined
  return `This ${known ?? error.message}.`
}

/** Of the patterns that a person meets, in words. */
const FORMS: ReadonlyMap<string, string> = new Map([
  [ADDRESS_PATTERN, 'must be 0x and 40 hexadecimal digits'],
  [HASH_PATTERN, 'must be 0x and 64 hexadecimal digits in lower case'],
  [
    DECIMAL_PATTERN,
    'must be a decimal such as 12.5, of at most 13 digits before the point and 18 behind it',
  ],
])

function nameOf(path: readonly string[]): string {
  return path.map((name) => name.slice(0, MAX_NAME).replaceAll(/\p{C}/gu, '?')).join('.')
}

function pathOf(pointer: string): string[] {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
