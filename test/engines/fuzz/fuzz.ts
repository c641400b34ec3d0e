import { Agent } from 'node:http'

import type { OpenApiDocument } from '../../../src/api/docs/openapi.ts'
import { messageOf } from '../../../src/base/errors.ts'
import { contractOf, type Contract } from '../../fixtures/api/contract.ts'
import { createRandom } from '../../fixtures/random.ts'
import {
  makeRequest,
  type FuzzOperation,
  type FuzzRequest,
  type FuzzWorld,
  type KnownId,
} from './requests.ts'
import { send, type FuzzAnswer } from './send.ts'
import type { Schema } from './values.ts'

export type FuzzReport = {
  /** How often each operation gave each status. */
  statuses: ReadonlyMap<string, ReadonlyMap<number, number>>
  /** What is wrong, each kind once, with the request that showed it. */
  findings: readonly string[]
}

export type FuzzOptions = {
  url: string
  seed: number
  requests: number
  callers: Pick<FuzzWorld, 'keys' | 'usernames' | 'password'>
  /** After which no answer is a finding. */
  timeoutMs?: number
  onProgress?: (sent: number) => void
}

/**
 * Asks the server for its documents, sends what they allow and what they do not, and holds every
 * answer against them. Requests follow from the seed, but for the ids that the server draws.
 */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { url, requests, callers, timeoutMs = 20_000 } = options
  const documents = { a: await fetchDocument(url, 'a'), b: await fetchDocument(url, 'b') }
  const operations = Object.values(documents).flatMap(operationsOf)
  const contract = contractOf(documents)
  const random = createRandom(`fuzz ${options.seed}`)
  const world = { ...callers, tokens: [] as string[], ids: [] as KnownId[] }
  const statuses = new Map<string, Map<number, number>>()
  const findings = new Map<string, string>()
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
  let sent = 0
  const work = async (): Promise<void> => {
    while (sent < requests && findings.size < MAX_FINDINGS) {
      const number = sent++
      const request = makeRequest(random.pick(operations), { random, world, number })
      const answer = await send(request, { url, agent, timeoutMs }).catch(messageOf)
      const finding = judge(request, answer, contract)
      if (finding !== undefined && !findings.has(finding)) {
        findings.set(finding, `${finding}\n    request ${number}: ${describe(request)}`)
      }
      if (typeof answer === 'string') continue
      count(statuses, request.name, answer.status)
      learn(world, request, answer)
      if (number % 1000 === 0) options.onProgress?.(number)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  agent.destroy()
  return { statuses, findings: [...findings.values()] }
}

const CONCURRENCY = 16
const MAX_FINDINGS = 20

async function fetchDocument(url: string, group: 'a' | 'b'): Promise<OpenApiDocument> {
  const answer = await fetch(`${url}/openapi/group-${group}.json`)
  return (await answer.json()) as OpenApiDocument
}

function operationsOf(document: OpenApiDocument): FuzzOperation[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const content = (operation['requestBody'] as { content?: object } | undefined)?.content
      const json = Object.values(content ?? {})[0] as { schema: Schema } | undefined
      return {
        method: method.toUpperCase(),
        path,
        parameters: (operation['parameters'] ?? []) as FuzzOperation['parameters'],
        body: json?.schema,
        components: document.components.schemas,
      }
    }),
  )
}

/** The headers that are too large never become a request, so no operation documents that answer. */
const BEFORE_A_REQUEST = 431

function judge(
  request: FuzzRequest,
  answer: FuzzAnswer | string,
  contract: Contract,
): string | undefined {
  if (typeof answer === 'string') {
    // Before the headers are read nobody knows that HEAD wants no body, and the client is confused.
    const isConfused = request.method === 'HEAD' && request.headers['x-padding'] !== undefined
    return isConfused ? undefined : `${request.name}: no answer, ${answer}`
  }
  if (answer.status === 500) return `${request.name}: 500 ${answer.text.slice(0, 100)}`
  if (answer.status === BEFORE_A_REQUEST) return undefined
  try {
    contract({ method: request.method, url: request.url, ...answer })
    return undefined
  } catch (error) {
    return `${request.name}: outside of its schema, ${messageOf(error).slice(0, 300)}`
  }
}

function describe({ method, url, headers, body }: FuzzRequest): string {
  const shown = [headers, body?.toString()].map((part) => JSON.stringify(part)?.slice(0, 400))
  return `${method} ${url.slice(0, 300)} ${shown.join(' ')}`
}

function count(
  statuses: Map<string, Map<number, number>>,
  operation: string,
  status: number,
): void {
  const counts = statuses.get(operation) ?? new Map<number, number>()
  statuses.set(operation, counts.set(status, (counts.get(status) ?? 0) + 1))
}

const MAX_LEARNT = 300

type Learning = { ids: KnownId[]; tokens: string[] }

/** Whoever asks next may use an id or a token that somebody else was given. */
function learn(world: Learning, request: FuzzRequest, { status, text }: FuzzAnswer): void {
  if (status >= 300) return
  const { authorization, 'x-api-key': key } = request.headers
  const credential = { ...(authorization && { authorization }), ...(key && { 'x-api-key': key }) }
  for (const [, value = ''] of text.matchAll(/"\w*(?:[iI]d|cursor)":"?([\w-]{1,64})/g)) {
    if (!world.ids.some((known) => known.value === value)) world.ids.push({ value, credential })
  }
  for (const [, value = ''] of text.matchAll(/"access_token":"([^"]+)"/g)) world.tokens.push(value)
  world.ids.splice(0, world.ids.length - MAX_LEARNT)
  world.tokens.splice(0, world.tokens.length - MAX_LEARNT)
}
