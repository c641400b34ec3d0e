import { toQuantity, word, type MinedLog } from '../answers.ts'
import type { Hex } from '../hex.ts'
import { askEach } from '../quorum.ts'
import type { Providers } from '../rpc/providers.ts'
import { agreed, askAgreed } from './agreed.ts'
import { createBlockReader, type BlockReader } from './blocks.ts'
import { decodeEvent, selectorOf, topicOf } from './events.ts'
import { createLogReaders, type LogReader } from './logs.ts'

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

/**
 * Reads what several providers agree on: two of them where there are as many, and all that answer.
 * Rejects, and may succeed later, while they do not.
 */
export type SupplyReader = {
  /** In the order of the chain. Burns of other tokens are among them in a range that is short. */
  events: (range: BlockRange, signal: AbortSignal) => Promise<SupplyEvent[]>
  block: BlockReader
  /** All that is out; of a token with other issuers, what ours holds. */
  supplyAt: (number: bigint, signal: AbortSignal) => Promise<bigint>
}

export type BlockRange = { from: bigint; to: bigint }

export function createSupplyReader(deps: {
  providers: Pick<Providers, 'all' | 'askAll'>
  token: Hex
}): SupplyReader {
  const { providers, token } = deps
  const readers = createLogReaders(providers)
  return {
    events: async (range, signal) =>
      agreed(await askEach(readers, ({ read }) => readBoth(read, { ...range, token, signal }))),
    block: createBlockReader(providers),
    async supplyAt(number, signal) {
      const call = { to: token, data: selectorOf('totalSupply()') }
      return askAgreed(providers, {
        call: { method: 'eth_call', params: [call, toQuantity(number)], signal },
        read: (result) => word(result, 'supply'),
      })
    },
  }
}

/** Above it, only the token's own logs are asked for: all others would be too many. */
const SHORT_RANGE = 1_000n

const NOBODY: Hex = `0x${'0'.repeat(64)}`

type EventQuery = BlockRange & { token: Hex; signal: AbortSignal }

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
