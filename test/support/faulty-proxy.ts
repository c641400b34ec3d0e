import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { keccak256, type Hex } from 'viem'

import {
  CALL_FAULTS,
  LIES,
  LINE_FAULTS,
  lie,
  type FaultKind,
  type FaultPlan,
  type Json,
} from './faults.ts'
import { lagged } from './lagging.ts'
import type { KeyedDraw } from './random.ts'

/**
 * A JSON-RPC server in front of a real node that fails as it is told to. With an equal seed the
 * same calls meet the same faults.
 */
export type FaultyProxy = {
  url: string
  /** How `createProviders` calls it. */
  name: string
  /** Replaces what may go wrong from now on; `{}` makes it honest and well. */
  setPlan: (plan: FaultPlan) => void
  /** The latest calls, oldest first, with what was done to each. */
  calls: readonly ProxyCall[]
  count: (kind: FaultKind) => number
  /** Ends all connections, those that wait for an answer included. */
  stop: () => Promise<void>
}

export type ProxyCall = { method: string; params: readonly unknown[]; faults: FaultKind[] }

export async function startFaultyProxy(options: {
  target: string
  random: KeyedDraw
  plan?: FaultPlan
}): Promise<FaultyProxy> {
  const state: State = {
    target: options.target,
    random: options.random,
    plan: options.plan ?? {},
    calls: [],
    counts: new Map(),
  }
  const server = createServer((request, response) => {
    handle(state, request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    name: `127.0.0.1:${port}`,
    setPlan: (plan) => void (state.plan = plan),
    calls: state.calls,
    count: (kind) => state.counts.get(kind) ?? 0,
    stop: () => stop(server),
  }
}

type State = {
  target: string
  random: KeyedDraw
  plan: FaultPlan
  calls: ProxyCall[]
  counts: Map<FaultKind, number>
}

type Message = { id: unknown; method: string; params?: readonly unknown[] }

async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

async function handle(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Message | Message[]
  const messages = Array.isArray(body) ? body : [body]
  const calls = messages.map(({ method, params = [] }) => ({ method, params, faults: [] }))
  remember(state, calls)

  const onLine = new Set(LINE_FAULTS.filter((kind) => strikes(state, kind, calls)))
  if (onLine.has('refuse')) return void response.destroy()
  if (onLine.has('http_error')) return send(response, 502, 'Bad Gateway', 'text/plain')
  if (onLine.has('html')) return send(response, 200, '<html>Just a moment…</html>', 'text/html')
  if (onLine.has('garbage'))
    return send(response, 200, '{"jsonrpc":"2.0","id":1,"res', 'text/plain')
  if (onLine.has('rate_limit')) {
    response.setHeader('retry-after', String(state.plan.retryAfterSeconds ?? 1))
    return send(response, 429, 'Too Many Requests', 'text/plain')
  }
  const { plan } = state
  const answers = []
  for (const [index, message] of messages.entries()) {
    const call = calls[index] ?? { method: '', params: [], faults: [] }
    answers.push({ jsonrpc: '2.0', id: message.id, ...(await answer(state, call)) })
  }
  if (onLine.has('cut')) return void response.destroy()
  if (onLine.has('swallow')) return hang(response, plan.hangMs)
  if (onLine.has('late')) await sleep(plan.lateMs ?? 50)
  send(response, 200, JSON.stringify(Array.isArray(body) ? answers : answers[0]))
}

function send(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'application/json',
): void {
  response.writeHead(status, { 'content-type': type })
  response.end(text)
}

async function hang(response: ServerResponse, hangMs: number | undefined): Promise<void> {
  const closed = once(response, 'close')
  await (hangMs === undefined ? closed : Promise.race([closed, sleep(hangMs)]))
  response.destroy()
}

type Answer = { result: unknown } | { error: Json }

async function answer(state: State, call: ProxyCall): Promise<Answer> {
  const faults = new Set(CALL_FAULTS.filter((kind) => strikes(state, kind, [call])))
  if (faults.has('error')) return { error: { code: -32_603, message: 'Internal error' } }
  if (faults.has('limit_exceeded')) return { error: { code: -32_005, message: 'limit exceeded' } }
  if (faults.has('method_missing')) {
    return { error: { code: -32_601, message: `the method ${call.method} does not exist` } }
  }
  if (faults.has('null')) return { result: null }
  if (faults.has('drop')) return { result: keccak256(call.params[0] as Hex) }
  if (faults.has('duplicate')) await forward(state, call)
  const truth = await forward(state, call)
  if (faults.has('error_after')) return { error: { code: -32_603, message: 'Internal error' } }
  if (!('result' in truth)) return truth
  return { result: await distort(state, call, truth.result) }
}

async function distort(state: State, call: ProxyCall, truth: unknown): Promise<unknown> {
  const ask = (method: string, params: readonly unknown[]) => resultOf(state, { method, params })
  const { lagBlocks = 0 } = state.plan
  let result = lagBlocks > 0 ? await lagged({ call, truth, lagBlocks, ask }) : truth
  for (const kind of LIES.filter((kind) => strikes(state, kind, [call]))) {
    const newest = (await ask('eth_getBlockByNumber', ['latest', false])) as Json
    const planned = state.plan[kind]
    const about = typeof planned === 'object' ? planned.about : undefined
    result = lie(kind, call, { result, newest, about })
  }
  return result
}

async function resultOf(state: State, call: Omit<ProxyCall, 'faults'>): Promise<unknown> {
  const answer = await forward(state, call)
  return 'result' in answer ? answer.result : null
}

async function forward(state: State, call: Omit<ProxyCall, 'faults'>): Promise<Answer> {
  const { method, params } = call
  const response = await fetch(state.target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()) as Answer
}

/** Whether the fault strikes any of the calls; each is asked, so that every seed stays its own. */
function strikes(state: State, kind: FaultKind, calls: readonly ProxyCall[]): boolean {
  const planned = state.plan[kind] ?? 0
  const { chance, methods } =
    typeof planned === 'number' ? { chance: planned, methods: undefined } : planned
  const struck = calls.filter((call) => {
    if (chance === 0 || (methods && !methods.includes(call.method))) return false
    // Nothing but a raw transaction can be accepted and forgotten.
    if (kind === 'drop' && call.method !== 'eth_sendRawTransaction') return false
    return state.random(`${kind} ${call.method} ${JSON.stringify(call.params)}`) < chance
  })
  for (const call of struck) call.faults.push(kind)
  if (struck.length > 0) state.counts.set(kind, (state.counts.get(kind) ?? 0) + 1)
  return struck.length > 0
}

function remember(state: State, calls: readonly ProxyCall[]): void {
  state.calls.push(...calls)
  if (state.calls.length > MAX_CALLS) state.calls.splice(0, state.calls.length - MAX_CALLS)
}

const MAX_CALLS = 10_000
