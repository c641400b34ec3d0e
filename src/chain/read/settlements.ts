import type { Hex } from '../hex.ts'
import { askEach } from '../quorum.ts'
import type { Providers } from '../rpc/providers.ts'
import { agreed } from './agreed.ts'
import { topicOf } from './events.ts'
import { createLogReaders, type LogReader } from './logs.ts'
import { decodeSettled, type Settled } from './settled.ts'
import type { BlockRange } from './supply.ts'

export type MinedSettlement = Settled & {
  transactionHash: Hex
  blockNumber: bigint
  blockHash: Hex
}

/**
 * Reads what was settled to one payee, in the order of the chain: what two providers agree on where
 * there are as many. Rejects, and may succeed later, while they do not.
 */
export type SettlementReader = (
  range: BlockRange,
  signal: AbortSignal,
) => Promise<MinedSettlement[]>

export function createSettlementReader(deps: {
  providers: Pick<Providers, 'all'>
  settlement: Hex
  payee: Hex
}): SettlementReader {
  const readers = createLogReaders(deps.providers)
  return async (range, signal) =>
    agreed(await askEach(readers, ({ read }) => readAll(read, { ...deps, ...range, signal })))
}

async function readAll(
  reader: LogReader,
  query: BlockRange & { settlement: Hex; payee: Hex; signal: AbortSignal },
): Promise<MinedSettlement[]> {
  const { from: fromBlock, to: toBlock, settlement: address, payee, signal } = query
  const payeeTopic: Hex = `0x${payee.slice(2).toLowerCase().padStart(64, '0')}`
  const topics = [topicOf('Settled'), null, null, payeeTopic]
  const found: MinedSettlement[] = []
  for await (const { value } of reader({ address, topics, fromBlock, toBlock, signal })) {
    for (const log of value) {
      const settled = decodeSettled(log, address)
      if (settled === undefined || settled.payee !== payee.toLowerCase()) continue
      const { transactionHash, blockNumber, blockHash } = log
      found.push({ ...settled, transactionHash, blockNumber, blockHash })
    }
  }
  return found.toSorted((a, b) =>
    a.blockNumber === b.blockNumber
      ? a.logIndex - b.logIndex
      : Number(a.blockNumber - b.blockNumber),
  )
}
