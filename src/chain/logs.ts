import type { Address, Hex } from 'viem'

import { parseLogs, type MinedLog, type Seen } from './facts.ts'
import type { Provider } from './provider.ts'
import { toQuantity } from './quantity.ts'
import { RpcError } from './rpc-error.ts'

export type LogQuery = {
  /** Undefined: whoever logged it. */
  address: Address | undefined
  /** As `eth_getLogs` takes them: null stands for anything. */
  topics: readonly (Hex | null)[]
  fromBlock: bigint
  toBlock: bigint
  signal: AbortSignal
}

/** `toBlock` is the last block that the part covers. */
export type LogPart = Seen<MinedLog[]> & { toBlock: bigint }

/** Reads logs of any range in parts that the provider takes, and remembers how large those are. */
export type LogReader = (query: LogQuery) => AsyncGenerator<LogPart>

/** One provider's reader: how much one takes says nothing of another. */
export function createLogReader(provider: Provider): LogReader {
  let span = FIRST_SPAN
  return async function* readLogs(query) {
    let from = query.fromBlock
    while (from <= query.toBlock) {
      const last = from + span - 1n
      const to = last < query.toBlock ? last : query.toBlock
      try {
        const value = await provider.request(callFor(query, { from, to }))
        from = to + 1n
        // Slowly, since each refusal costs a call.
        span = min(span + span / 8n + 1n, MAX_SPAN)
        const { name } = provider
        yield { value: parseLogs({ value, provider: name }), provider: name, toBlock: to }
      } catch (error) {
        const isTooMuch = error instanceof RpcError && TOO_MUCH.has(error.code) && to > from
        if (!isTooMuch) throw error
        // It ends: at one block a refusal is thrown.
        span = (to - from + 1n) / 2n
      }
    }
  }
}

const FIRST_SPAN = 2000n
const MAX_SPAN = 100_000n
const TOO_MUCH: ReadonlySet<string> = new Set(['rpc_range_too_large', 'rpc_answer_too_large'])

function callFor(query: LogQuery, part: { from: bigint; to: bigint }) {
  const { address, topics, signal } = query
  const range = { fromBlock: toQuantity(part.from), toBlock: toQuantity(part.to) }
  return { method: 'eth_getLogs', params: [{ address, topics, ...range }], signal }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
