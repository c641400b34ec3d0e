import { Type, type TSchema } from 'typebox'

import { BaseError } from '../../base/errors.ts'
import { failures, type FailureCode } from '../../wire/errors.ts'
import * as groupA from '../../wire/group-a/errors.ts'
import * as groupB from '../../wire/group-b/errors.ts'
import type { Endpoint } from '../admission/endpoint.ts'
import { LivenessSchema, ReadinessSchema } from '../health.ts'
import { GROUP_A_VERSION, type Group } from '../server/headers.ts'
import { examplesOfAnswer, examplesOfFailure, type Examples } from './examples.ts'
import { shareParts, type Reference } from './shared-parts.ts'
import { exampleOfRequest, snippetsOf } from './snippets.ts'
import { documentWebhooks } from './webhooks.ts'

export type OpenApiDocument = {
  openapi: '3.1.1'
  info: Record<string, unknown>
  servers: Array<{ url: string }>
  tags: Array<{ name: string }>
  paths: Record<string, Record<string, Operation>>
  /** What subscriptions receive. */
  webhooks?: ReturnType<typeof documentWebhooks>
  components: {
    schemas: Components
    /** The failures of the operations, and the headers of all answers. */
    responses: Record<string, Response>
    headers: Record<string, unknown>
    securitySchemes: object
  }
}

export type Operation = {
  operationId: string
  tags: string[]
  responses: Record<string, Response | Reference>
  [part: string]: unknown
}

export type Response = {
  description: string
  headers: Record<string, unknown>
  content: Record<string, { schema: Record<string, unknown>; examples?: Examples }>
}

/** The description of one group, from the very objects that serve it. */
export function documentGroup(group: Group, all: readonly Endpoint[]): OpenApiDocument {
  const endpoints = all.filter((endpoint) => endpoint.group === group)
  const schemas: Components = {}
  const paths: OpenApiDocument['paths'] = {}
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = documentEndpoint(endpoint, schemas)
  }
  if (group === 'b') Object.assign(paths, documentHealth(schemas))
  const webhooks =
    group === 'a' ? documentWebhooks((schema) => documentSchema(schema, schemas)) : undefined
  return {
    openapi: '3.1.1',
    info: INFO[group],
    servers: [{ url: '/' }],
    tags: [...tagsOf(paths), ...(webhooks ? [{ name: 'Webhooks' }] : [])],
    paths,
    ...(webhooks && { webhooks }),
    components: { schemas, ...shareParts<Response>(paths), securitySchemes: SECURITY[group] },
  }
}

function tagsOf(paths: OpenApiDocument['paths']): Array<{ name: string }> {
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  return [...new Set(operations.flatMap(({ tags }) => tags))].map((name) => ({ name }))
}

const ERRORS =
  'Every failure has the form `Error`, or with `Accept: application/problem+json` the form ' +
  '`Problem` (RFC 9457). Every answer has `X-Request-Id`: yours, if you sent one of 8 to 64 ' +
  'letters, digits, `_` or `-`, otherwise a new one. Fields and parameters that are not listed ' +
  'are refused.'

const GUIDES = 'The [guides](/docs/guides) explain how the parts work together.'

const INFO = {
  a: {
    title: 'Payments, wallets and stablecoin',
    version: GROUP_A_VERSION,
    description: `${GUIDES}\n\nAmounts are decimal strings. ${ERRORS}`,
  },
  b: {
    title: 'Platform',
    version: '1.0.0',
    description:
      `${GUIDES}\n\nAmounts are JSON numbers, exact in their text: read them with a parser that ` +
      `keeps all digits, or read the string next to them. ${ERRORS}`,
  },
} as const

const SECURITY = {
  a: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
  b: {
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    accessToken: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'From `POST /api/token`.',
    },
  },
} as const

function documentEndpoint(endpoint: Endpoint, schemas: Components): Operation {
  const { operationId, summary, description, tag, access, group } = endpoint
  const snippets = snippetsOf(endpoint)
  const scope = access === 'public' ? '' : `Requires the scope \`${access}\`.`
  return {
    operationId,
    summary,
    description: [description, scope].filter(Boolean).join('\n\n'),
    tags: [tag],
    ...(snippets.length > 0 && { 'x-codeSamples': snippets }),
    security:
      access === 'public' ? [] : Object.keys(SECURITY[group]).map((name) => ({ [name]: [] })),
    parameters: parametersOf(endpoint, schemas),
    ...(endpoint.body ? { requestBody: requestBodyOf(endpoint, endpoint.body, schemas) } : {}),
    responses: {
      [String(endpoint.status)]: {
        description: 'Done.',
        headers: answerHeaders(endpoint),
        content: Object.fromEntries(
          mediaTypesOf(endpoint).map((type) => [
            type,
            {
              schema: type === 'text/csv' ? CSV : documentSchema(endpoint.answer, schemas),
              ...(type === 'application/json' && shown(examplesOfAnswer(endpoint))),
            },
          ]),
        ),
      },
      ...failuresOf(endpoint, schemas),
    },
  }
}

/** Its first line names the columns. */
const CSV = { type: 'string' }

function mediaTypesOf({ follow, media }: Endpoint): readonly string[] {
  if (media !== undefined) return media.types.map((type) => type.split(';')[0] ?? type)
  return [follow ? 'text/event-stream' : 'application/json']
}

function requestBodyOf(endpoint: Endpoint, body: TSchema, schemas: Components) {
  const schema = documentSchema(body, schemas)
  const example = exampleOfRequest(endpoint)
  const content = { 'application/json': { schema, ...(example !== undefined && { example }) } }
  return { required: !endpoint.isBodyOptional, content }
}

function parametersOf(endpoint: Endpoint, schemas: Components) {
  return [
    ...fieldsOf(endpoint.params, schemas).map((field) => ({ ...field, in: 'path' })),
    ...fieldsOf(endpoint.query, schemas).map((field) => ({
      ...field,
      in: 'query',
      // As `metadata[order_id]=2025-014`.
      ...(field.schema['type'] === 'object' && { style: 'deepObject', explode: true }),
    })),
    ...(takesKey(endpoint) ? [IDEMPOTENCY_KEY] : []),
    ...(endpoint.follow && !endpoint.media ? [LAST_EVENT_ID] : []),
  ]
}

function takesKey({ method, access, hasSecret }: Endpoint): boolean {
  return method === 'POST' && access !== 'public' && !hasSecret
}

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the event that you saw last. Later events are sent at once.',
  schema: { type: 'string', examples: ['812.1025'] },
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Identifies the request, so that a repeat does it once. The same key and body return the ' +
    'first answer with `Idempotent-Replayed: true`, for 30 days. With or without quotes.',
  // Without an example: a page would send it, and refuse the next request that has it.
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
}

function fieldsOf(schema: TSchema | undefined, schemas: Components) {
  if (!schema || !('properties' in schema)) return []
  const required = 'required' in schema ? (schema.required as string[]) : []
  const properties = Object.entries(schema.properties as Record<string, TSchema>)
  return properties.map(([name, property]) => {
    const { description, ...rest } = documentSchema(property, schemas)
    return {
      name,
      // A parameter with a default may be left out, though the handler always gets it.
      required: required.includes(name) && !('default' in property),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }
  })
}

/** What can go wrong follows from the form of the operation, and from what it adds itself. */
function failuresOf(endpoint: Endpoint, schemas: Components): Record<string, Response> {
  const { access, method, params, moves, failures: own = [] } = endpoint
  const codes: FailureCode[] = [
    'invalid_request',
    ...(access === 'public' ? [] : (['unauthorized', 'forbidden'] as const)),
    ...(moves ? (['policy_refused'] as const) : []),
    ...(params ? (['not_found'] as const) : []),
    ...(method === 'GET' ? [] : (['body_too_large', 'unsupported_media_type'] as const)),
    ...(takesKey(endpoint) ? IDEMPOTENCY_FAILURES : []),
    'rate_limited',
    'internal_error',
    'unavailable',
    'database_unavailable',
    'overloaded',
    ...own,
  ]
  const errors = endpoint.group === 'a' ? groupA : groupB
  const schema = documentSchema(errors.ErrorSchema, schemas)
  const problem = { schema: documentSchema(errors.ProblemSchema, schemas) }
  const entries = [...new Set(codes)].map((code) => entryOf(endpoint.group, code))
  return Object.fromEntries(
    [...Map.groupBy(entries, ({ status }) => status)].map(([status, some]) => {
      const examples = shown(examplesOfFailure(endpoint, { status, codes: some }))
      const content = {
        'application/json': { schema, ...examples },
        'application/problem+json': problem,
      }
      const description = some.map(({ title, name }) => `${title} (\`${name}\`).`).join(' ')
      return [status, { description, headers: failureHeaders(status, endpoint), content }]
    }),
  )
}

/** How a group reports a failure. */
function entryOf(group: Group, name: FailureCode) {
  const { title, ...entry }: FailureEntry = failures[name]
  if (group === 'b') return { name, title, status: String(entry.status), code: name }
  const status = String(entry.statusA ?? entry.status)
  return { name, title, status, code: String(entry.groupA) }
}

type FailureEntry = { status: number; statusA?: number; groupA: number; title: string }

/** A place without examples has no word of them. */
function shown(examples: Examples): { examples?: Examples } {
  return Object.keys(examples).length === 0 ? {} : { examples }
}

const IDEMPOTENCY_FAILURES = [
  'idempotency_in_flight',
  'idempotency_key_reused',
] as const satisfies readonly FailureCode[]

function answerHeaders(endpoint: Endpoint): Record<string, unknown> {
  const replayed = header('true if this is the stored answer to an earlier request.')
  return {
    ...commonHeaders(endpoint),
    ...(takesKey(endpoint) ? { 'Idempotent-Replayed': replayed } : {}),
  }
}

function failureHeaders(status: string, endpoint: Endpoint): Record<string, unknown> {
  return {
    ...commonHeaders(endpoint),
    ...(status === '401' ? { 'WWW-Authenticate': header('How to authenticate.') } : {}),
    ...(status === '429' || status === '503'
      ? { 'Retry-After': header('Seconds to wait before the next try.') }
      : {}),
    ...(status === '503' ? { 'Request-Not-Processed': header(NOT_PROCESSED) } : {}),
  }
}

const NOT_PROCESSED =
  'true if nothing was done with the request. Any request can then be sent again.'

function commonHeaders(endpoint: Endpoint): Record<string, unknown> {
  return {
    'X-Request-Id': header('Identifies the request in logs. Quote it when you report a problem.'),
    'RateLimit-Policy': header('The number of requests in a number of seconds.'),
    RateLimit: header('The number of requests that are left.'),
    ...(endpoint.group === 'a' ? { 'API-Version': header('The version of this contract.') } : {}),
  }
}

function header(description: string) {
  return { description, schema: { type: 'string' } }
}

/** What a balancer asks. These two have no credential and no limit of their own. */
function documentHealth(schemas: Components) {
  const answer = (schema: TSchema, description: string) => ({
    description,
    headers: { 'X-Request-Id': { schema: { type: 'string' } } },
    content: { 'application/json': { schema: documentSchema(schema, schemas) } },
  })
  const common = { tags: ['Health'], security: [], parameters: [] }
  return {
    '/healthz': {
      get: {
        ...common,
        operationId: 'readLiveness',
        summary: 'Check whether the process lives',
        responses: {
          '200': answer(LivenessSchema, 'The process lives.'),
          '503': answer(groupB.ErrorSchema, 'Too many requests at once.'),
        },
      },
    },
    '/readyz': {
      get: {
        ...common,
        operationId: 'readReadiness',
        summary: 'Check whether the process can serve, part by part',
        responses: {
          '200': answer(ReadinessSchema, 'The process can serve.'),
          '503': answer(
            Type.Union([ReadinessSchema, groupB.ErrorSchema]),
            'The process cannot serve, is stopping, or has too many requests at once.',
          ),
        },
      },
    },
  }
}

/** The documents' schemas by name. */
type Components = Record<string, Record<string, unknown>>

/**
 * A schema as the documents show it: named parts stand once under their name, and what a check
 * sees differently from the wire is replaced by what is on the wire.
 */
function documentSchema(schema: unknown, components: Components): Record<string, unknown> {
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
