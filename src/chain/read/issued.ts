import type { Hex } from '../../domain/orders.ts'
import { toQuantity, word, type MinedLog } from '../answers.ts'
import { askEach } from '../quorum.ts'
import type { Providers } from '../rpc/providers.ts'
import { agreed, askAgreed } from './agreed.ts'
import { createBlockReader } from './blocks.ts'
import { decodeEvent, topicOf } from './events.ts'
import { createLogReaders, type LogReader } from './logs.ts'
import type { BlockRange, SupplyEvent, SupplyReader } from './supply.ts'
import { holdingCall } from './token.ts'

/**
 * Reads what one issuer among several has done with a token that has no memos: what it minted, what
 * it burnt, and what holders have sent to its address. An event goes by its transaction, which is
 * its memo; what one holder sends in one transaction is one event.
 */
export function createIssuedReader(deps: {
  providers: Pick<Providers, 'all' | 'askAll'>
  token: Hex
  issuer: Hex
}): SupplyReader {
  const { providers, token, issuer } = deps
  const readers = createLogReaders(providers)
  return {
    events: async (range, signal) =>
      agreed(
        await askEach(readers, ({ read }) => readEvents(read, { ...range, token, issuer, signal })),
      ),
    block: createBlockReader(providers),
    async supplyAt(number, signal) {
      const call = { to: token, data: holdingCall(issuer) }
      return askAgreed(providers, {
        call: { method: 'eth_call', params: [call, toQuantity(number)], signal },
        read: (result) => word(result, 'balance'),
      })
    },
  }
}

type IssuedQuery = BlockRange & { token: Hex; issuer: Hex; signal: AbortSignal }

async function readEvents(reader: LogReader, query: IssuedQuery): Promise<SupplyEvent[]> {
  const { from: fromBlock, to: toBlock, token, issuer, signal } = query
  const us: Hex = `0x${issuer.slice(2).padStart(64, '0')}`
  const range = { fromBlock, toBlock, signal, address: token }
  const events = new Map<string, SupplyEvent>()
  for (const topics of [
    [topicOf('Mint'), us],
    [topicOf('Burn'), us],
    [topicOf('Transfer'), null, us],
  ]) {
    for await (const { value } of reader({ ...range, topics })) {
      for (const log of value) add(events, log)
    }
  }
  return [...events.values()].toSorted((a, b) => Number(a.blockNumber - b.blockNumber))
}

function add(events: Map<string, SupplyEvent>, log: MinedLog): void {
  const event = decodeEvent(log)
  const { minter, burner, from, to, amount } = event?.args ?? {}
  if (typeof amount !== 'bigint' || amount === 0n) return
  if (from !== undefined && from === to) return
  const kind = minter === undefined ? 'burn' : 'mint'
  const holder = (minter === undefined ? (burner ?? from) : to) as Hex
  // What is minted to the issuer itself comes from nobody, and is a mint already.
  if (BigInt(holder) === 0n) return
  const { transactionHash, blockNumber, blockHash, address: token } = log
  const key = `${kind} ${transactionHash} ${holder}`
  const before = events.get(key)?.amount ?? 0n
  const place = { token, transactionHash, blockNumber, blockHash }
  events.set(key, { kind, holder, memo: transactionHash, amount: before + amount, ...place })
}
