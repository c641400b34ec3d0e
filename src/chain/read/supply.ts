import type { Hex } from 'viem'

import { BaseError } from '../../base/errors.ts'
import { decodeEvent, selectorOf, topicOf } from './events.ts'
import { data, readBlock, toQuantity, type MinedLog } from '../answers.ts'
import { createLogReader, type LogReader } from './logs.ts'
import type { Providers } from '../rpc/providers.ts'

/** New money or burnt money of a token with memos, as one log of a block tells it. */
export type SupplyEvent = {
  kind: 'mint' | 'burn'
  /** In lower case, as all addresses here. */
  token: Hex
  holder: Hex
  amount: bigint
  memo: Hex
  transactionHash: Hex
  blockNumber: bigint
  blockHash: Hex
}

export type TimedBlock = { number: bigint; hash: Hex; time: Date }

/**
 * Reads what several providers agree on: two of them where there are as many, and all that answer.
 * Rejects, and may succeed later, while they do not.
 */
export type SupplyReader = {
  /** In the order of the chain. Burns of other tokens are among them in a range that is short. */
  events: (range: BlockRange, signal: AbortSignal) => Promise<SupplyEvent[]>
  /** Undefined while there is no such block. */
  block: (number: bigint, signal: AbortSignal) => Promise<TimedBlock | undefined>
  supplyAt: (number: bigint, signal: AbortSignal) => Promise<bigint>
}

export type BlockRange = { from: bigint; to: bigint }

export function createSupplyReader(deps: {
  providers: Pick<Providers, 'all' | 'askAll'>
  token: Hex
}): SupplyReader {
  const { providers, token } = deps
  const readers = providers.all.map(createLogReader)
  return {
    events: (range, signal) => readEvents(readers, { ...range, token, signal }),
    async block(number, signal) {
      const params = [toQuantity(number), false]
      const block = await askAgreed(providers, {
        call: { method: 'eth_getBlockByNumber', params, signal },
        read: readTimedBlock,
      })
      if (block !== undefined && block.number !== number) throw new ProvidersDifferError()
      return block
    },
    async supplyAt(number, signal) {
      const call = { to: token, data: selectorOf('totalSupply()') }
      return askAgreed(providers, {
        call: { method: 'eth_call', params: [call, toQuantity(number)], signal },
        read: (result) => BigInt(data(result, 'supply', 32)),
      })
    },
  }
}

/** Above it, only the token's own logs are asked for: all others would be too many. */
const SHORT_RANGE = 1_000n

const NOBODY: Hex = `0x${'0'.repeat(64)}`

type EventQuery = BlockRange & { token: Hex; signal: AbortSignal }

async function readEvents(
  readers: readonly LogReader[],
  query: EventQuery,
): Promise<SupplyEvent[]> {
  const answers = await Promise.allSettled(readers.map((reader) => readBoth(reader, query)))
  return agreed(answers, readers.length)
}

async function readBoth(reader: LogReader, query: EventQuery): Promise<SupplyEvent[]> {
  const { from: fromBlock, to: toBlock, token, signal } = query
  const range = { fromBlock, toBlock, signal }
  const topic = topicOf('TransferWithMemo')
  const isShort = toBlock - fromBlock < SHORT_RANGE
  const mints = { ...range, address: token, topics: [topic, NOBODY] }
  const burns = { ...range, address: isShort ? undefined : token, topics: [topic, null, NOBODY] }
  const logs: MinedLog[] = []
  for (const wanted of [mints, burns]) {
    for await (const { value } of reader(wanted)) logs.push(...value)
  }
  logs.sort(byPlace)
  return logs.flatMap((log) => readEvent(log) ?? [])
}

function byPlace(a: MinedLog, b: MinedLog): number {
  if (a.blockNumber !== b.blockNumber) return a.blockNumber < b.blockNumber ? -1 : 1
  return a.logIndex - b.logIndex
}

/** Undefined for a log that only looks like one. */
function readEvent(log: MinedLog): SupplyEvent | undefined {
  const event = decodeEvent(log)
  const { from, to, amount, reference } = event?.args ?? {}
  if (typeof amount !== 'bigint' || amount === 0n || from === to) return undefined
  const isMint = BigInt(from ?? 0) === 0n
  return {
    kind: isMint ? 'mint' : 'burn',
    token: log.address,
    holder: (isMint ? to : from) as Hex,
    amount,
    memo: reference as Hex,
    transactionHash: log.transactionHash,
    blockNumber: log.blockNumber,
    blockHash: log.blockHash,
  }
}

export async function askAgreed<T>(
  providers: Pick<Providers, 'askAll'>,
  { call, read }: { call: Parameters<Providers['askAll']>[0]; read: (result: unknown) => T },
): Promise<T> {
  const answers = await providers.askAll(call)
  return agreed(
    answers.map((answer) =>
      answer.ok
        ? { status: 'fulfilled' as const, value: read(answer.result) }
        : { status: 'rejected' as const, reason: answer.error },
    ),
    answers.length,
  )
}

export function agreed<T>(answers: readonly PromiseSettledResult<T>[], asked: number): T {
  const values = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const [first] = values
  if (values.length < Math.min(2, asked)) {
    throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new NoAnswerError()
  }
  if (values.some((value) => textOf(value) !== textOf(first))) throw new ProvidersDifferError()
  return first as T
}

function textOf(value: unknown): string {
  return JSON.stringify([value], (_key, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  )
}

function readTimedBlock(result: unknown): TimedBlock | undefined {
  if (result === null) return undefined
  const { number, hash, timeMs } = readBlock(result)
  return { number, hash, time: new Date(timeMs) }
}

class ProvidersDifferError extends BaseError {
  constructor() {
    super('The providers tell different things of final blocks. One lags or lies: look at them.', {
      code: 'providers_differ',
      retryable: true,
    })
  }
}

class NoAnswerError extends BaseError {
  constructor() {
    super('No provider answered. It is asked again.', {
      code: 'chain_unreachable',
      retryable: true,
    })
  }
}
