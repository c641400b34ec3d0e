import { stringifyJson } from '../../../src/wire/json.ts'
import type { Random } from '../../fixtures/random.ts'
import { HOSTILE_TEXTS, spoil } from './hostile.ts'
import { valueOf, type Schema, type ValueContext } from './values.ts'

/** One operation as the served documents have it. */
export type FuzzOperation = {
  method: string
  path: string
  parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[]
  body: Schema | undefined
  components: Readonly<Record<string, Schema>>
}

export type FuzzRequest = {
  /** As the table of results names it. */
  name: string
  method: string
  url: string
  headers: Record<string, string>
  body: string | Buffer | undefined
}

/** What callers have; the server made all of it. */
export type FuzzWorld = {
  keys: readonly string[]
  usernames: readonly string[]
  password: string
  tokens: readonly string[]
  ids: readonly KnownId[]
}

export type KnownId = {
  value: string
  /** The credential that was told of it. */
  credential: Record<string, string>
}

/** A third of the requests are as the documents have them; the others are wrong somewhere. */
export function makeRequest(
  operation: FuzzOperation,
  options: { random: Random; world: FuzzWorld; number: number },
): FuzzRequest {
  const { random, world } = options
  const { components } = operation
  const context = { random, components, ids: world.ids.map(({ value }) => value) }
  const isPlain = random.chance(1 / 3)
  const spoils = (probability: number): boolean => !isPlain && random.chance(probability)
  const known = knownIdFor(operation, { random, world })
  const path = pathOf(operation, { ...context, known }, spoils)
  const url = path + queryOf(operation, context, spoils)
  const method = spoils(0.04) ? random.pick(OTHER_METHODS) : operation.method
  const body = bodyOf(operation, { ...context, world, spoils })
  return {
    name: `${operation.method} ${operation.path}`,
    method,
    url,
    headers: headersOf(operation, { ...options, spoils, known, hasBody: body !== undefined }),
    body: method === 'HEAD' || method === 'GET' ? undefined : body,
  }
}

const OTHER_METHODS = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'POST']

type Spoils = (probability: number) => boolean

/** An id of the form that the path takes. */
function knownIdFor(
  { parameters }: FuzzOperation,
  { random, world }: { random: Random; world: FuzzWorld },
): KnownId | undefined {
  const schema = parameters.find((one) => one.in === 'path')?.schema
  if (schema === undefined) return undefined
  const { pattern, format } = schema
  const form = new RegExp(
    typeof pattern === 'string' ? pattern : format === 'uuid' ? UUID : '',
    'u',
  )
  const fitting = world.ids.filter(({ value }) => form.test(value))
  return fitting.length > 0 ? random.pick(fitting) : undefined
}

const UUID = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'

function pathOf(
  operation: FuzzOperation,
  context: ValueContext & { known: KnownId | undefined },
  spoils: Spoils,
): string {
  const { random, known } = context
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (spoils(0.2)) return random.pick(HOSTILE_SEGMENTS)
    if (known) return encodeURIComponent(known.value)
    const schema = operation.parameters.find((one) => one.in === 'path' && one.name === name)
    return encode(String(valueOf(schema?.schema ?? {}, context)))
  })
  return spoils(0.03)
    ? `${path}${random.pick(['/', '//', '%2f', ';a', '%00', '/..', '%zz'])}`
    : path
}

const HOSTILE_SEGMENTS: readonly string[] = [
  '%00',
  '%2e%2e%2f',
  '%ff',
  '%',
  'a'.repeat(5000),
  '9223372036854775808',
  '-1',
  '1e3',
  '%EF%BC%91',
  "'",
  '*',
]

function queryOf(operation: FuzzOperation, context: ValueContext, spoils: Spoils): string {
  const { random } = context
  const known = operation.parameters.filter((one) => one.in === 'query')
  const pairs = known
    .filter((one) => one.required || random.chance(0.3))
    .map(({ name, schema }) => {
      const value = spoils(0.3) ? random.pick(HOSTILE_TEXTS) : valueOf(schema, context)
      return `${name}=${encode(String(value))}`
    })
  if (spoils(0.1))
    pairs.push(random.pick(['x=1', '__proto__=1', 'limit=1&limit=2', 'a[]=1', '%', '&&', '=']))
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

/** A lone surrogate has no encoding; the server gets the bytes that stand for nothing. */
function encode(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ed%a0%80'
}

function bodyOf(
  { body, method, path }: FuzzOperation,
  context: ValueContext & { world: FuzzWorld; spoils: Spoils },
): string | Buffer | undefined {
  const { random, spoils, world } = context
  if (body === undefined) {
    return method !== 'GET' && spoils(0.3) ? spoil({}, random) : undefined
  }
  const made = valueOf(body, context)
  if (path === '/api/token' && random.chance(0.5)) {
    Object.assign(made as object, { username: random.pick(world.usernames) })
    if (random.chance(0.7)) Object.assign(made as object, { password: world.password })
  }
  return spoils(0.75) ? spoil(made, random) : stringifyJson(made)
}

type Asking = {
  random: Random
  world: FuzzWorld
  number: number
  spoils: Spoils
  known: KnownId | undefined
}

function headersOf(
  operation: FuzzOperation,
  options: Asking & { hasBody: boolean },
): Record<string, string> {
  const { random, number, spoils, hasBody } = options
  const type = spoils(0.1) ? random.pick(CONTENT_TYPES) : 'application/json'
  return {
    ...credentialOf(options),
    ...(hasBody && { 'content-type': type }),
    // Limits by address would soon meet one address that does all this.
    'x-forwarded-for': `10.${[16, 8, 0].map((bits) => (number >> bits) & 255).join('.')}`,
    ...(operation.method === 'POST' &&
      random.chance(0.5) && { 'idempotency-key': keyOf(random, spoils) }),
    ...(random.chance(0.1) && { accept: random.pick(ACCEPTS) }),
    ...(spoils(0.1) && random.pick(STRANGE_HEADERS)),
  }
}

function keyOf(random: Random, spoils: Spoils): string {
  if (spoils(0.2)) return random.pick(['', '""', 'a b', 'é', 'k'.repeat(256), '"', '\t'])
  return random.chance(0.2) ? `again-${random.below(20)}` : `key-${random.below(2 ** 32)}`
}

function credentialOf(options: Asking): Record<string, string> {
  const { random, world, number, spoils, known } = options
  if (spoils(0.08)) return random.pick(BAD_CREDENTIALS)
  // Half of those who ask for an id are those who know it.
  if (known && random.chance(0.5)) return known.credential
  const key = world.keys[number % world.keys.length] ?? ''
  if (world.tokens.length > 0 && random.chance(0.05)) {
    return { authorization: `Bearer ${random.pick(world.tokens)}` }
  }
  return random.chance(0.5) ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }
}

const BAD_CREDENTIALS: readonly Record<string, string>[] = [
  {},
  { 'x-api-key': '' },
  { 'x-api-key': 'sk_sandbox_' },
  { 'x-api-key': `sk_live_${'a'.repeat(49)}` },
  { 'x-api-key': 'é'.repeat(100) },
  { authorization: 'Bearer' },
  { authorization: 'Basic YTpi' },
  { authorization: `Bearer ${'a'.repeat(8000)}` },
  { authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.' },
  { authorization: 'Bearer a.b.c', 'x-api-key': 'x' },
]

const CONTENT_TYPES: readonly string[] = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/json;charset=utf-8;x=1',
  'application/\tjson',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  '',
]

const ACCEPTS: readonly string[] = [
  'application/problem+json',
  'application/problem+json;q=0',
  'text/html',
  '*/*;q=x',
]

const STRANGE_HEADERS: readonly Record<string, string>[] = [
  { 'x-request-id': 'a'.repeat(65) },
  { 'x-request-id': 'fuzz-0000001' },
  { 'content-encoding': 'gzip' },
  { 'x-http-method-override': 'DELETE' },
  { 'transfer-encoding': 'chunked' },
  { 'if-none-match': '*' },
  { range: 'bytes=0-1' },
  { cookie: 'a'.repeat(4000) },
  { 'x-padding': 'a'.repeat(17_000) },
  { host: 'evil.example' },
  { origin: 'https://evil.example' },
]
