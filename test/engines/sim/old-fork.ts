import type { RpcCall } from '../../../src/chain/rpc/provider.ts'
import { toHex, type World } from './world.ts'

/** What a reorg has taken, as a node still shows it that has not heard of the reorg. */
export type OldFork = {
  /** Undefined: nothing of it was taken, so it is as it is now. */
  answer: (call: RpcCall, parts: 'receipts' | 'all') => { is: unknown } | undefined
}

/** Read before the reorg, from the lowest block that it will take up to the head. */
export async function readFork({ rpc }: World, from: number, head: number): Promise<OldFork> {
  const known = new Map<string, unknown>()
  const receipts = new Map<string, unknown>()
  for (let number = from; number <= head; number++) {
    for (const full of [false, true]) {
      const block = await rpc('eth_getBlockByNumber', [toHex(number), full])
      known.set(nameOf('eth_getBlockByNumber', [toHex(number), full]), block)
      if (number === head) known.set(nameOf('eth_getBlockByNumber', ['latest', full]), block)
      if (full) continue
      for (const hash of (block as { transactions: string[] }).transactions) {
        receipts.set(hash, await rpc('eth_getTransactionReceipt', [hash]))
      }
    }
  }
  known.set(nameOf('eth_blockNumber', []), toHex(head))
  return {
    answer({ method, params = [] }, parts) {
      if (method === 'eth_getTransactionReceipt') {
        const receipt = receipts.get(String(params[0]))
        return receipt === undefined ? undefined : { is: receipt }
      }
      const name = nameOf(method, params)
      return parts === 'all' && known.has(name) ? { is: known.get(name) } : undefined
    },
  }
}

function nameOf(method: string, params: readonly unknown[]): string {
  return `${method} ${JSON.stringify(params)}`
}
