import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { exchangeByNode } from './http-node.ts'
import type { Provider } from './provider.ts'
import { RpcError } from './rpc-error.ts'
import { callRpc, callRpcBatch, type RpcItem, type RpcLine, type RpcOutcome } from './rpc.ts'
import { createThrottle, type Throttle } from './throttle.ts'

/** A provider over HTTP that is held back, watched, and checked to serve the chain it should. */
export type HttpProvider = Provider & {
  /** Each item has its own outcome, a failure of the line and an abort included. */
  batch: (items: readonly RpcItem[], signal: AbortSignal) => Promise<RpcOutcome[]>
  /** Asks for the chain id now, whenever it was asked before, and throws unless it is right. */
  check: (signal: AbortSignal) => Promise<void>
  state: () => ProviderState
}

export type ProviderState = {
  name: string
  score: number
  /** Of the latest answers, on average. */
  latencyMs: number
  /** The share of the latest calls that were answered, 0 to 1. */
  answered: number
  /** In a row, up to now. */
  failures: number
  circuit: Circuit
  /** The provider asked to be left alone for a while. */
  isPaused: boolean
  /** The other chain that it answers for, which puts it out of use. */
  wrongChainId: string | undefined
  /** Calls a second that it bears, undefined while no limit is known. */
  ratePerSecond: number | undefined
  batchItems: number
}

export type ProviderEvent =
  | { kind: 'call'; provider: string; method: string; outcome: string; tookMs: number }
  | { kind: 'circuit'; provider: string; circuit: Circuit }
  | { kind: 'wrong_chain'; provider: string; expected: number; actual: string }

export type HttpProviderDeps = {
  url: string
  /** How it is called wherever its address, which may hold a key, must not be shown. */
  name: string
  /** What a call is checked against; a signed transaction names it, so reading must agree. */
  chainId: number
  clock: Clock
  onEvent: (event: ProviderEvent) => void
  timeoutMs?: number | undefined
  /** How old a check of the chain id may be before the next call makes another. */
  chainCheckMs?: number | undefined
  maxConcurrent?: number | undefined
}

export function createHttpProvider(deps: HttpProviderDeps): HttpProvider {
  const { name } = deps
  const line = createLine(deps)
  const chain = createChainCheck({ ...deps, line })
  const batches = createBatches(line)
  return {
    name,
    async request({ method, params = [], signal = new AbortController().signal }) {
      await chain.require(signal)
      return line.call({ method, params }, signal)
    },
    async batch(items, signal) {
      try {
        await chain.require(signal)
      } catch (error) {
        return items.map(() => ({ ok: false, error: asRpcError(error) }))
      }
      return batches.run(items, signal)
    },
    check: (signal) => chain.check(signal),
    state: () => ({
      name,
      ...line.health.tallies(),
      circuit: line.health.circuit(deps.clock.now().getTime()),
      isPaused: line.throttle.isPaused(),
      wrongChainId: chain.wrongChainId(),
      ratePerSecond: line.throttle.rate(),
      batchItems: batches.size(),
    }),
  }
}

type Line = {
  throttle: Throttle
  health: Health
  call: (item: RpcItem, signal: AbortSignal) => Promise<unknown>
  callBatch: (items: readonly RpcItem[], signal: AbortSignal) => Promise<RpcOutcome[]>
}

/** Every call goes through here: in its turn, timed, and counted for or against the provider. */
function createLine(deps: HttpProviderDeps): Line {
  const { name, clock, onEvent } = deps
  const health = createHealth()
  const throttle = createThrottle({
    name,
    clock,
    ...(deps.maxConcurrent !== undefined && { maxConcurrent: deps.maxConcurrent }),
  })
  const wire = (signal: AbortSignal): RpcLine => ({
    url: deps.url,
    signal,
    exchange: exchangeByNode,
    ...(deps.timeoutMs !== undefined && { timeoutMs: deps.timeoutMs }),
  })
  const judge = (error: RpcError | undefined, tookMs: number): void => {
    const nowMs = clock.now().getTime()
    const before = health.circuit(nowMs)
    if (error?.code === 'rpc_rate_limited') throttle.onLimited(error.retryAfterMs)
    if (error !== undefined && BAD_HEALTH.has(error.code)) health.onFailed(nowMs)
    else if (error?.code !== 'rpc_aborted') health.onAnswered({ nowMs, tookMs })
    if (error === undefined) throttle.onAnswered()
    const circuit = health.circuit(nowMs)
    if (circuit !== before) onEvent({ kind: 'circuit', provider: name, circuit })
  }
  const measured = <T>(
    call: { method: string; signal: AbortSignal; errorOf: (answer: T) => RpcError | undefined },
    work: () => Promise<T>,
  ): Promise<T> =>
    throttle.run(async () => {
      const startedAt = performance.now()
      const report = (error: RpcError | undefined): void => {
        const tookMs = performance.now() - startedAt
        judge(error, tookMs)
        const outcome = error?.code ?? 'ok'
        onEvent({ kind: 'call', provider: name, method: call.method, outcome, tookMs })
      }
      try {
        const answer = await work()
        report(call.errorOf(answer))
        return answer
      } catch (error) {
        report(asRpcError(error))
        throw error
      }
    }, call.signal)
  return {
    throttle,
    health,
    call: (item, signal) =>
      measured({ method: item.method, signal, errorOf: () => undefined }, () =>
        callRpc({ ...wire(signal), ...item }),
      ),
    callBatch: (items, signal) =>
      measured({ method: 'batch', signal, errorOf: firstTelling }, () =>
        callRpcBatch(wire(signal), items),
      ),
  }
}

/** Failures of the line and nonsense; a refusal is an answer. */
const BAD_HEALTH: ReadonlySet<string> = new Set(['rpc_unreachable', 'rpc_timeout', 'rpc_garbage'])

/** Of a batch's errors, the one that says something about the provider and not about the item. */
function firstTelling(outcomes: readonly RpcOutcome[]): RpcError | undefined {
  for (const outcome of outcomes) {
    if (outcome.ok) continue
    const { code } = outcome.error
    if (code === 'rpc_rate_limited' || code === 'rpc_garbage') return outcome.error
  }
  return undefined
}

type ChainCheck = {
  /** Checks when the last check is too old, and throws while the chain is another one. */
  require: (signal: AbortSignal) => Promise<void>
  check: (signal: AbortSignal) => Promise<void>
  wrongChainId: () => string | undefined
}

function createChainCheck(deps: HttpProviderDeps & { line: Line }): ChainCheck {
  const { name, chainId, clock, line, onEvent } = deps
  const maxAgeMs = deps.chainCheckMs ?? DEFAULT_CHAIN_CHECK_MS
  let checkedAtMs = -Infinity
  let wrong: string | undefined
  let running: Promise<void> | undefined
  const check = async (signal: AbortSignal): Promise<void> => {
    const answer = await line.call({ method: 'eth_chainId', params: [] }, signal)
    checkedAtMs = clock.now().getTime()
    const actual = typeof answer === 'string' ? answer.slice(0, MAX_CHAIN_ID_LENGTH) : 'nonsense'
    const isRight = /^0x[0-9a-f]+$/i.test(actual) && BigInt(actual) === BigInt(chainId)
    const isNews = !isRight && wrong !== actual
    wrong = isRight ? undefined : actual
    if (isNews) onEvent({ kind: 'wrong_chain', provider: name, expected: chainId, actual })
  }
  return {
    async require(signal) {
      if (clock.now().getTime() - checkedAtMs >= maxAgeMs) {
        // Calls that start together share one check; one that was ended takes nobody with it.
        running ??= check(new AbortController().signal).finally(() => (running = undefined))
        await unlessAborted(running, { name, signal })
      }
      if (wrong !== undefined) throw wrongChain({ name, chainId, actual: wrong })
    },
    async check(signal) {
      await check(signal)
      if (wrong !== undefined) throw wrongChain({ name, chainId, actual: wrong })
    },
    wrongChainId: () => wrong,
  }
}

const DEFAULT_CHAIN_CHECK_MS = 30_000
const MAX_CHAIN_ID_LENGTH = 66

type Batches = {
  run: (items: readonly RpcItem[], signal: AbortSignal) => Promise<RpcOutcome[]>
  size: () => number
}

/** Cuts batches to the size that the provider has shown to take, which it learns by halving. */
function createBatches(line: Line): Batches {
  let size: number = limits.rpcBatchItems
  const send = async (items: readonly RpcItem[], signal: AbortSignal): Promise<RpcOutcome[]> => {
    try {
      return await line.callBatch(items, signal)
    } catch (error) {
      const failure = asRpcError(error)
      const isTooLarge = TOO_LARGE.has(failure.code) && items.length > 1
      if (!isTooLarge) return items.map(() => ({ ok: false, error: failure }))
      size = Math.max(1, Math.min(size, Math.floor(items.length / 2)))
      return run(items, signal)
    }
  }
  const run = async (items: readonly RpcItem[], signal: AbortSignal): Promise<RpcOutcome[]> => {
    const outcomes: RpcOutcome[] = []
    // The size only falls, and at 1 nothing is cut any more, so this ends.
    while (outcomes.length < items.length) {
      const part = items.slice(outcomes.length, outcomes.length + size)
      outcomes.push(...(await send(part, signal)))
    }
    return outcomes
  }
  return { run, size: () => size }
}

const TOO_LARGE: ReadonlySet<string> = new Set(['rpc_answer_too_large', 'rpc_batch_too_large'])

async function unlessAborted(
  work: Promise<void>,
  { name, signal }: { name: string; signal: AbortSignal },
): Promise<void> {
  const end = Promise.withResolvers<never>()
  const onAbort = (): void => {
    const text = `The call to ${name} was ended while its chain id was checked. Nothing was sent.`
    end.reject(new RpcError(text, { code: 'rpc_aborted', details: { provider: name } }))
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([work, end.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error
  throw error
}

function wrongChain(facts: { name: string; chainId: number; actual: string }): RpcError {
  const { name, chainId, actual } = facts
  return new RpcError(
    `${name} answers for chain ${actual} instead of ${chainId}, so it is not used. Correct ETH_RPC_URL.`,
    { code: 'rpc_wrong_chain', details: { provider: name, expected: chainId, actual } },
  )
}

/**
 * The health of one provider, derived from its calls. Only failed connections and unreadable
 * answers count as failures: an error that it returns is an answer.
 */
export type Health = {
  onAnswered: (call: { nowMs: number; tookMs: number }) => void
  onFailed: (nowMs: number) => void
  /** The score is 0 to 1: the share of calls that were answered lately, less for slow ones. */
  tallies: () => Pick<ProviderState, 'score' | 'latencyMs' | 'answered' | 'failures'>
  circuit: (nowMs: number) => Circuit
}

/**
 * `closed`: in use. `open`: left alone after failures in a row. `trial`: left alone for long enough
 * that the next call may show whether it recovered.
 */
export type Circuit = 'closed' | 'open' | 'trial'

export function createHealth(): Health {
  let success = 1
  let latencyMs = 0
  let failures = 0
  let openUntilMs: number | undefined
  return {
    onAnswered({ tookMs }) {
      success += (1 - success) * WEIGHT
      latencyMs += (tookMs - latencyMs) * WEIGHT
      failures = 0
      openUntilMs = undefined
    },
    onFailed(nowMs) {
      success -= success * WEIGHT
      failures += 1
      if (failures < FAILURES_TO_OPEN) return
      const openings = Math.min(failures - FAILURES_TO_OPEN, MAX_DOUBLINGS)
      openUntilMs = nowMs + FIRST_OPEN_MS * 2 ** openings
    },
    tallies: () => {
      const score = success / (1 + latencyMs / SLOW_MS)
      return { score, latencyMs, answered: success, failures }
    },
    circuit(nowMs) {
      if (openUntilMs === undefined) return 'closed'
      return nowMs < openUntilMs ? 'open' : 'trial'
    },
  }
}

/** The last ten calls or so make up the score. */
const WEIGHT = 0.2
const FAILURES_TO_OPEN = 3
const FIRST_OPEN_MS = 500
/** 500 ms to 32 s. */
const MAX_DOUBLINGS = 6
/** A provider that takes this long is worth half of one that answers at once. */
const SLOW_MS = 2000
