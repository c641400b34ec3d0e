import type { Address, Hex } from 'viem'

import { ahead } from '../../base/ahead.ts'
import { readFrom, readLogs, toQuantity, type MinedLog, type FromProvider } from '../answers.ts'
import type { Provider } from '../rpc/provider.ts'
import { RpcError } from '../rpc/rpc-error.ts'

export type LogQuery = {
  /** Undefined: the logs of any contract. */
  address: Address | undefined
  /** As `eth_getLogs` takes them: null stands for anything. */
  topics: readonly (Hex | null)[]
  fromBlock: bigint
  toBlock: bigint
  signal: AbortSignal
}

/** `toBlock` is the last block that the part covers. */
export type LogPart = FromProvider<MinedLog[]> & { toBlock: bigint }

/** Reads logs of any range in parts that the provider takes, and remembers how large those are. */
export type LogReader = (query: LogQuery) => AsyncGenerator<LogPart>

/** One provider's reader: how much one takes says nothing of another. */
export function createLogReader(provider: Provider): LogReader {
  return createPartReader(provider, (answer) => {
    return { value: readFrom(answer, readLogs), provider: provider.name }
  })
}

export function createLogReaders({ all }: { all: readonly Provider[] }) {
  return all.map((provider) => ({ name: provider.name, read: createLogReader(provider) }))
}

/** As a reader of logs, for one who reads the answers in a way of his own. */
export function createPartReader<T extends object>(
  provider: Provider,
  parse: (answer: FromProvider<unknown>) => T,
): (query: LogQuery) => AsyncGenerator<T & { toBlock: bigint }> {
  const ask = createAsker(provider)
  return async function* readParts(query) {
    for await (const { value, toBlock } of ahead(ask(query))) {
      yield { ...parse({ value, provider: provider.name }), toBlock }
    }
  }
}

/** What the provider answers, unread, so that it works on the next part while this one is read. */
function createAsker(provider: Provider) {
  let span = FIRST_SPAN
  let refused: bigint | undefined
  return async function* askForParts(query: LogQuery) {
    let from = query.fromBlock
    while (from <= query.toBlock) {
      const last = from + span - 1n
      const to = last < query.toBlock ? last : query.toBlock
      try {
        const value = await provider.request(callFor(query, { from, to }))
        from = to + 1n
        span = spanAfter(span, { count: Array.isArray(value) ? value.length : 0, refused })
        yield { value, toBlock: to }
      } catch (error) {
        const isTooMuch = error instanceof RpcError && TOO_MUCH.has(error.code) && to > from
        if (!isTooMuch) throw error
        // It ends: at one block a refusal is thrown.
        refused = to - from + 1n
        span = refused / 2n
      }
    }
  }
}

/** Few, since nobody knows yet how much is in them: an answer too large is made for nothing. */
const FIRST_SPAN = 16n
const MAX_SPAN = 100_000n
/** So many logs are some megabytes, and the next question is as large as what gives about them. */
const MANY_LOGS = 5_000

function spanAfter(span: bigint, seen: { count: number; refused: bigint | undefined }): bigint {
  if (seen.count > MANY_LOGS) return span > 1n ? span / 2n : 1n
  if (seen.count > MANY_LOGS / 2) return span
  const doubled = span * 2n
  // Slowly where it was too much before, since each refusal costs a call.
  const isNear = seen.refused !== undefined && doubled >= seen.refused
  return min(isNear ? span + span / 8n + 1n : doubled, MAX_SPAN)
}
const TOO_MUCH: ReadonlySet<string> = new Set(['rpc_range_too_large', 'rpc_answer_too_large'])

function callFor(query: LogQuery, part: { from: bigint; to: bigint }) {
  const { address, topics, signal } = query
  const range = { fromBlock: toQuantity(part.from), toBlock: toQuantity(part.to) }
  return { method: 'eth_getLogs', params: [{ address, topics, ...range }], signal }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
