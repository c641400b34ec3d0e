import type { Json } from './faults.ts'

type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>

/** What a node that is some blocks behind would have said instead. */
export async function lagged(lag: {
  call: { method: string; params: readonly unknown[] }
  truth: unknown
  lagBlocks: number
  ask: Ask
}): Promise<unknown> {
  const { call, truth, ask } = lag
  const newest = BigInt((await ask('eth_blockNumber', [])) as string)
  const head = newest > BigInt(lag.lagBlocks) ? newest - BigInt(lag.lagBlocks) : 0n
  const headHex = `0x${head.toString(16)}`
  const { method, params } = call
  if (method === 'eth_blockNumber') return headHex
  if (method === 'eth_getBlockByNumber' && params[0] === 'latest') {
    return ask(method, [headHex, params[1] ?? false])
  }
  const state = STATE_METHODS[method]
  if (state !== undefined && ['latest', 'pending', undefined].includes(params[state] as string)) {
    return ask(method, [...params.slice(0, state), headHex])
  }
  return isUnknownAt(truth, head) ? null : truth
}

/** Where these methods name the block that they are about. */
const STATE_METHODS: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getTransactionCount: 1,
  eth_getCode: 1,
  eth_call: 1,
}

/** Blocks, receipts and mined transactions above the head that the node knows. */
function isUnknownAt(truth: unknown, head: bigint): boolean {
  const first: unknown = Array.isArray(truth) ? truth[0] : truth
  if (typeof first !== 'object' || first === null) return false
  const object = first as Json
  const number = object['parentHash'] === undefined ? object['blockNumber'] : object['number']
  return typeof number === 'string' && BigInt(number) > head
}
