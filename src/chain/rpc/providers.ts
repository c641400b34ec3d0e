import type { Clock } from '../../base/clock.ts'
import { inRounds } from '../../base/loop.ts'
import { askEach, type Answers } from '../quorum.ts'
import { coalescing } from './coalesce.ts'
import {
  createHttpProvider,
  type HttpProvider,
  type ProviderEvent,
  type ProviderState,
} from './http-provider.ts'
import type { RpcCall } from './provider.ts'
import { RpcError } from './rpc-error.ts'
import { nameOfProvider } from './rpc.ts'

/** All providers of one chain. Each answer comes with the name of the provider that gave it. */
export type Providers = {
  chainId: number
  /** Each by itself, for code that compares their answers. */
  all: readonly HttpProvider[]
  /** Asks the best provider, then the others, then after a pause all of them again. */
  ask: (call: RpcCall) => Promise<Answered>
  /** `ask` without the name, which is what a viem transport wants. */
  request: (call: RpcCall) => Promise<unknown>
  /** Asks every provider at once and collects what they say, in their order. Throws never. */
  askAll: (call: RpcCall) => Promise<Answers<unknown>>
  /** Asks every provider for its chain id now. `error` tells why one cannot be used. */
  checkAll: (signal: AbortSignal) => Promise<ProviderCheck[]>
  states: () => ProviderState[]
}

export type ProviderCheck = ProviderState & { error: RpcError | undefined }
export type Answered = { result: unknown; provider: string }

export type ProvidersDeps = {
  urls: readonly string[]
  chainId: number
  clock: Clock
  /** From 0 to below 1; spreads retries of several processes. */
  random: () => number
  /** Called for each call, circuit and chain mismatch: metrics and logs hang here. */
  onEvent?: (event: ProviderEvent) => void
  timeoutMs?: number
  chainCheckMs?: number
  maxConcurrent?: number
  retry?: RetryPolicy
}

/** One policy for all calls: so many times round all providers, with growing pauses between. */
export type RetryPolicy = { rounds: number; firstPauseMs: number; maxPauseMs: number }

export function createProviders(deps: ProvidersDeps): Providers {
  const { urls, chainId, clock, onEvent = () => undefined } = deps
  if (urls.length === 0) throw noProvider('is configured')
  const shared = { chainId, clock, onEvent, timeoutMs: deps.timeoutMs }
  const names = namesOf(urls)
  const list = urls.map((url, index) =>
    createHttpProvider({
      ...shared,
      url,
      name: names[index] ?? nameOfProvider(url),
      chainCheckMs: deps.chainCheckMs,
      maxConcurrent: deps.maxConcurrent,
    }),
  )
  const pool: Pool = { list, clock, random: deps.random, retry: deps.retry ?? DEFAULT_RETRY }
  return {
    chainId,
    all: list.map((provider) => ({ ...provider, ...coalescing(provider) })),
    ask: (call) => ask(pool, call),
    request: async (call) => (await ask(pool, call)).result,
    askAll: (call) => askAll(pool, call),
    checkAll: (signal) => Promise.all(list.map((provider) => checkOne(provider, signal))),
    states: () => list.map((provider) => provider.state()),
  }
}

type Pool = {
  list: readonly HttpProvider[]
  clock: Clock
  random: () => number
  retry: RetryPolicy
}

const DEFAULT_RETRY: RetryPolicy = { rounds: 3, firstPauseMs: 100, maxPauseMs: 2000 }

async function checkOne(provider: HttpProvider, signal: AbortSignal): Promise<ProviderCheck> {
  try {
    await provider.check(signal)
    return { ...provider.state(), error: undefined }
  } catch (error) {
    if (error instanceof RpcError) return { ...provider.state(), error }
    throw error
  }
}

/** A number distinguishes two addresses at one host, since their keys must not be shown. */
function namesOf(urls: readonly string[]): string[] {
  const hosts = urls.map(nameOfProvider)
  return hosts.map((host, index) => {
    const earlier = hosts.slice(0, index).filter((other) => other === host).length
    return earlier === 0 ? host : `${host} (${earlier + 1})`
  })
}

async function ask(pool: Pool, call: RpcCall): Promise<Answered> {
  return persistently(pool, call.signal, (errors) => askOnce(inOrder(pool.list), call, errors))
}

/** One time round. A failure of each provider is added to the errors; a verdict is thrown. */
async function askOnce(
  candidates: readonly HttpProvider[],
  call: RpcCall,
  errors: RpcError[],
): Promise<Answered | undefined> {
  for (const provider of candidates) {
    try {
      return { result: await provider.request(call), provider: provider.name }
    } catch (error) {
      if (!(error instanceof RpcError) || VERDICTS.has(error.code)) throw error
      errors.push(error)
    }
  }
  return undefined
}

/** After these no other provider is asked: it would say the same, or the caller has given up. */
const VERDICTS: ReadonlySet<string> = new Set(['rpc_reverted', 'rpc_aborted', 'rpc_queue_full'])

/** Repeats while the outcome may change, and then throws the error that explains most. */
async function persistently<T>(
  { clock, random, retry }: Pool,
  signal: AbortSignal | undefined,
  once: (errors: RpcError[]) => Promise<T | undefined>,
): Promise<T> {
  let errors: RpcError[] = []
  const answer = await inRounds({ ...retry, clock, random, signal }, async () => {
    errors = []
    const answer = await once(errors)
    if (answer === undefined && !errors.some((error) => error.retryable)) throw worstOf(errors)
    return answer
  })
  if (answer === undefined) throw worstOf(errors)
  return answer
}

/** A refusal explains more than a failed connection, and that more than a wrong chain. */
function worstOf(errors: readonly RpcError[]): RpcError {
  const refusal = errors.find((error) => !error.retryable && error.code !== 'rpc_wrong_chain')
  const failure = errors.find((error) => error.code !== 'rpc_wrong_chain')
  return refusal ?? failure ?? errors[0] ?? noProvider('is in use')
}

/** The healthiest first; the paused, the broken and those on another chain as a last resort. */
function inOrder(list: readonly HttpProvider[]): HttpProvider[] {
  return list
    .map((provider) => ({ provider, rank: rankOf(provider.state()) }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ provider }) => provider)
}

function rankOf(state: ProviderState): number {
  if (state.wrongChainId !== undefined) return -4
  const classes = { closed: 0, trial: -2, open: -3 }
  return classes[state.circuit] - (state.isPaused ? 1 : 0) + state.score
}

async function askAll({ list }: Pool, call: RpcCall): Promise<Answers<unknown>> {
  const open = list.filter((provider) => provider.state().circuit === 'open')
  // One dead provider must not make every look at the chain wait for its timeout.
  const isAnyUsable = open.length < list.length
  return askEach(list, (provider) => {
    if (isAnyUsable && open.includes(provider)) throw leftAlone(provider.name)
    return provider.request(call)
  })
}

function leftAlone(provider: string): RpcError {
  return new RpcError(`${provider} failed too often and is not asked for a while. Check it.`, {
    code: 'rpc_unreachable',
    details: { provider, circuit: 'open' },
  })
}

function noProvider(what: string): RpcError {
  return new RpcError(`No provider ${what}. Check ETH_RPC_URL.`, { code: 'rpc_no_provider' })
}
