import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'chai'

import type { Endpoint } from '../../src/api/endpoint.ts'
import { groupOf, type Group } from '../../src/api/groups.ts'
import { documentGroup, type OpenApiDocument, type Operation } from '../../src/api/openapi.ts'
import { stringifyJson } from '../../src/wire/json.ts'

export type Answer = {
  method: string
  url: string
  status: number
  headers: Record<string, unknown>
  text: string
}

/** Fails when an answer is not what the documents promise. */
export type Contract = (answer: Answer) => void

export function createContract(endpoints: readonly Endpoint[]): Contract {
  return contractOf({ a: readDocument('a', endpoints), b: readDocument('b', endpoints) })
}

export function contractOf(given: Record<Group, OpenApiDocument>): Contract {
  const documents = { a: closeObjects(given.a), b: closeObjects(given.b) }
  const validators = new Map<string, ValidateFunction>()
  const validatorOf = (document: OpenApiDocument, schema: object): ValidateFunction => {
    const key = JSON.stringify([document.info['title'], schema])
    const validator =
      validators.get(key) ?? createAjv().compile({ ...schema, components: document.components })
    validators.set(key, validator)
    return validator
  }
  return (answer) => {
    const path = answer.url.split('?', 1)[0] ?? ''
    expect(answer.headers, 'headers').to.include.keys('x-request-id', 'x-content-type-options')
    if (!/^\/(api|v1|healthz|readyz)\b/.test(path)) return
    const document = documents[groupOf(path)]
    const found = findOperations(document, path)
    const method = answer.method === 'HEAD' ? 'get' : answer.method.toLowerCase()
    const operation = found?.[method]
    if (answer.method === 'HEAD' || answer.status === 204) return expectNoBody(answer)
    const response = operation
      ? operation.responses[String(answer.status)]
      : failureOf(document, answer.status, found && isDecodable(path) ? [405] : [400, 404])
    expect(response, `${answer.method} ${path} ${answer.status} is documented`).to.be.an('object')
    const type = String(answer.headers['content-type']).split(';', 1)[0] ?? ''
    const content: Record<string, { schema: object }> = response?.content ?? {}
    const schema = content[type]?.schema
    expect(schema, `${answer.method} ${path} ${answer.status} ${type}`).to.be.an('object')
    const validate = validatorOf(document, schema ?? {})
    for (const part of type === 'text/event-stream' ? eventsOf(answer.text) : [answer.text]) {
      const valid = validate(JSON.parse(part))
      expect(valid ? [] : validate.errors, part).to.deep.equal([])
    }
  }
}

/** The data of the events of a stream, as far as they have come whole. */
function eventsOf(stream: string): string[] {
  return [...stream.matchAll(/^data: (.*)\n\n/gm)].flatMap(([, data]) => data ?? [])
}

/** The document as a client reads it. */
export function readDocument(group: Group, endpoints: readonly Endpoint[]): OpenApiDocument {
  return JSON.parse(stringifyJson(documentGroup(group, endpoints))) as OpenApiDocument
}

export function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
  // Its types describe the CommonJS module, whose default is the function.
  ;(formats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addVocabulary(['components'])
  return ajv
}

function expectNoBody(answer: Answer): void {
  expect(answer.text).to.equal('')
}

function findOperations(
  document: OpenApiDocument,
  path: string,
): Record<string, Operation> | undefined {
  const matches = Object.entries(document.paths).filter(([template]) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return (matches.find(([template]) => template === path) ?? matches[0])?.[1]
}

/** What cannot be decoded leads nowhere, even where it looks like an operation's path. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Where no operation is, any operation's failure tells the group's form of one. */
function failureOf(document: OpenApiDocument, status: number, allowed: readonly number[]) {
  expect(allowed).to.include(status)
  const [operation] = Object.values(document.paths).flatMap((path) => Object.values(path))
  return operation?.responses['400'] ?? groupWithoutOperations(document)
}

function groupWithoutOperations(document: OpenApiDocument) {
  const { schemas } = document.components
  const schema = schemas['Error'] ?? {}
  return { description: '', headers: {}, content: { 'application/json': { schema } } }
}

/** The documents leave room for new fields; in a test, one that they do not name is a mistake. */
function closeObjects<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closeObjects) as T
  if (typeof value !== 'object' || value === null) return value
  const closed = Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, closeObjects(part)]),
  )
  const isOpen = 'properties' in closed && closed['type'] === 'object'
  return (isOpen ? { additionalProperties: false, ...closed } : closed) as T
}
