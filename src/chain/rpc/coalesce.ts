import type { Provider, RpcCall } from './provider.ts'
import { RpcError } from './rpc-error.ts'
import type { RpcItem, RpcOutcome } from './rpc.ts'

/** What a provider must offer to be asked several things in one request. */
export type Batching = Provider & {
  batch: (items: readonly RpcItem[], signal: AbortSignal) => Promise<RpcOutcome[]>
}

/**
 * Calls that begin at the same time travel in one request. The callers do not notice: each call has
 * its own answer and its own end.
 */
export function coalescing(provider: Batching): Provider {
  let waiting: Waiting[] = []
  const flush = (): void => {
    const calls = waiting.filter(({ call }) => call.signal?.aborted !== true)
    waiting = []
    const [only, another] = calls
    if (only !== undefined && another === undefined) {
      provider.request(only.call).then(only.resolve, only.reject)
    } else if (only !== undefined) {
      void sendTogether(provider, calls)
    }
  }
  return {
    name: provider.name,
    request: (call) =>
      new Promise((resolve, reject) => {
        const { signal } = call
        const end = (): void => reject(ended(provider.name))
        if (signal?.aborted) {
          end()
          return
        }
        signal?.addEventListener('abort', end, { once: true })
        const settle = (): void => signal?.removeEventListener('abort', end)
        if (waiting.length === 0) setImmediate(flush)
        waiting.push({
          call,
          resolve: (result) => (settle(), resolve(result)),
          reject: (error) => (settle(), reject(error)),
        })
      }),
  }
}

type Waiting = {
  call: RpcCall
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

async function sendTogether(provider: Batching, calls: readonly Waiting[]): Promise<void> {
  const items = calls.map(({ call: { method, params = [] } }) => ({ method, params }))
  try {
    // One that is ended takes no other with it; the line's own time limit ends them all.
    const outcomes = await provider.batch(items, new AbortController().signal)
    if (isRefusedAsWhole(outcomes)) {
      for (const { call, resolve, reject } of calls) provider.request(call).then(resolve, reject)
      return
    }
    for (const [index, { resolve, reject }] of calls.entries()) {
      const outcome = outcomes[index]
      if (outcome?.ok === true) resolve(outcome.result)
      else reject(outcome?.error ?? unanswered(provider.name))
    }
  } catch (error) {
    for (const { reject } of calls) reject(error)
  }
}

/** Some nodes take no batches: then one error stands for all of them. */
function isRefusedAsWhole(outcomes: readonly RpcOutcome[]): boolean {
  const [first] = outcomes
  if (first === undefined || first.ok || !AS_WHOLE.has(first.error.code)) return false
  return outcomes.every((outcome) => !outcome.ok && outcome.error === first.error)
}

const AS_WHOLE: ReadonlySet<string> = new Set(['rpc_refused', 'rpc_garbage', 'rpc_method_missing'])

function ended(provider: string): RpcError {
  return new RpcError(`The call to ${provider} was ended before it was answered.`, {
    code: 'rpc_aborted',
    details: { provider },
  })
}

function unanswered(provider: string): RpcError {
  return new RpcError(`${provider} did not answer one of several calls. Ask again.`, {
    code: 'rpc_garbage',
    details: { provider },
  })
}
