import { systemClock } from '../../../src/base/clock.ts'
import { topicOf } from '../../../src/chain/read/events.ts'
import { createPartReader } from '../../../src/chain/read/logs.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { readSettledLogs } from '../../../src/reconciler/chain/settled-logs.ts'
import { CHAIN_ID } from '../../fixtures/books/verify.ts'
import type { SettledChain } from '../../fixtures/chain/settled-chain.ts'
import { timed } from './receipt-loops.ts'

const ROUNDS = 3

/**
 * The sweep's reading of all settlements beside the same logs read and thrown away, in turn, so
 * that whatever else the machine does slows both.
 */
export async function measureReading(
  world: Pick<SettledChain, 'chain' | 'settlement' | 'first' | 'last'>,
  readRaw: () => Promise<void>,
) {
  const { chain, settlement: address, first, last } = world
  const how = { chainId: CHAIN_ID, clock: systemClock, random: Math.random }
  const [provider] = createProviders({ ...how, urls: [chain.url] }).all
  const read = createPartReader(provider!, (answer) => {
    return { logs: readSettledLogs(answer, address) }
  })
  const query = {
    address,
    topics: [topicOf('Settled')],
    fromBlock: BigInt(first),
    toBlock: BigInt(last),
    signal: new AbortController().signal,
  }
  const seconds = { floor: 0, reading: 0 }
  let logs = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    seconds.floor += (await timed(readRaw)).seconds
    const { value, seconds: took } = await timed(async () => {
      let count = 0
      for await (const part of read(query)) count += part.logs.length
      return count
    })
    logs = value
    seconds.reading += took
  }
  return {
    logs,
    floorSeconds: seconds.floor / ROUNDS,
    readingSeconds: seconds.reading / ROUNDS,
    readingToFloor: seconds.reading / seconds.floor,
  }
}
