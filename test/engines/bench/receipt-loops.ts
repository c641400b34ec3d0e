import { JsonRpcProvider } from 'ethers'
import { createPublicClient, http, type Hex } from 'viem'

import { toQuantity } from '../../../src/chain/answers.ts'
import { topicOf } from '../../../src/chain/read/events.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { CHAIN_ID } from '../../fixtures/books/verify.ts'

export type Loop = { what: string; count: number; seconds: number; perSecond: number }

/** What others write: a receipt for each hash, one by one and in batches. */
export async function measureReceiptLoops(url: string, hashes: readonly Hex[]): Promise<Loop[]> {
  const plain = createPublicClient({ transport: http(url) })
  const batching = createPublicClient({ transport: http(url, { batch: { batchSize: 100 } }) })
  const ethers = new JsonRpcProvider(url, CHAIN_ID, { staticNetwork: true })
  const works: Record<string, () => Promise<void>> = {
    'viem, one by one': async () => {
      for (const hash of hashes) await plain.getTransactionReceipt({ hash })
    },
    'viem, ten batches of 100 at once': async () => {
      for (let at = 0; at < hashes.length; at += 1000) {
        const some = hashes.slice(at, at + 1000)
        await Promise.all(some.map((hash) => batching.getTransactionReceipt({ hash })))
      }
    },
    'ethers, one by one': async () => {
      for (const hash of hashes) await ethers.getTransactionReceipt(hash)
    },
  }
  const loops: Loop[] = []
  for (const [what, work] of Object.entries(works)) {
    const { seconds } = await timed(work)
    loops.push({ what, ...paceOf(hashes.length, seconds) })
  }
  ethers.destroy()
  return loops
}

/** The floor of a sweep: the same logs in ranges of so many blocks, as JSON and no more. */
export async function readRawLogs(
  { chain, settlement }: { chain: { url: string }; settlement: Hex },
  { first, last, step }: { first: number; last: number; step: number },
): Promise<void> {
  const topics = [topicOf('Settled')]
  for (let from = first; from <= last; from += step) {
    const to = Math.min(last, from + step - 1)
    const range = { fromBlock: toQuantity(from), toBlock: toQuantity(to) }
    const params = [{ address: settlement, topics, ...range }]
    await callRpc({ url: chain.url, method: 'eth_getLogs', params, timeoutMs: 60_000 })
  }
}

export async function timed<T>(work: () => Promise<T>): Promise<{ value: T; seconds: number }> {
  const startedAt = performance.now()
  const value = await work()
  return { value, seconds: (performance.now() - startedAt) / 1000 }
}

export function paceOf(count: number, seconds: number): Omit<Loop, 'what'> {
  return { count, seconds, perSecond: Math.round(count / seconds) }
}
