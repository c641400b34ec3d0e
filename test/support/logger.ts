import { concat, numberToHex, pad, size, slice, toEventSelector, type Hex } from 'viem'

import type { PaidChain } from './verify.ts'

/** What a contract of bad faith writes into a receipt. */
export type Written = { topics: readonly Hex[]; data: Hex }

/**
 * Puts a contract there that logs just this when it is called, whatever is true. With decimals, it
 * answers for a token as well.
 */
export async function writeLogs(
  { chain }: PaidChain,
  at: { address: Hex; logs: readonly Written[]; decimals?: number },
): Promise<void> {
  const { logs, decimals } = at
  const logging = concat([...logs.map(codeOf), '0x00'])
  const code = decimals === undefined ? logging : answering(decimals, logging)
  const params = [at.address, code]
  await chain.client.request({ method: 'anvil_setCode', params } as never)
}

export function transferLog(from: Hex, to: Hex, amount: bigint): Written {
  const topics = [toEventSelector('Transfer(address,address,uint256)'), pad(from), pad(to)]
  return { topics, data: numberToHex(amount, { size: 32 }) }
}

export function settledLog(facts: {
  reference: Hex
  payer: Hex
  payee: Hex
  token: Hex
  amount: bigint
}): Written {
  const { reference, payer, payee, token, amount } = facts
  const selector = toEventSelector('Settled(bytes32,address,address,address,uint256)')
  return {
    topics: [selector, reference, pad(payer), pad(payee)],
    data: concat([pad(token), numberToHex(amount, { size: 32 })]),
  }
}

/** MSTORE each word of the data, push the topics, the length and the place, and LOG. */
function codeOf({ topics, data }: Written): Hex {
  const words = Array.from({ length: size(data) / 32 }, (_, at) =>
    concat(['0x7f', slice(data, at * 32, at * 32 + 32), '0x60', byte(at * 32), '0x52']),
  )
  const pushed = topics.toReversed().map((topic) => concat(['0x7f', topic]))
  const log = byte(0xa0 + topics.length)
  return concat([...words, ...pushed, '0x60', byte(size(data)), '0x6000', log])
}

/** Jumps behind the rest for the selector of decimals(), and returns one word there. */
function answering(decimals: number, rest: Hex): Hex {
  const HEAD_BYTES = 15
  const place = numberToHex(HEAD_BYTES + size(rest), { size: 2 })
  const head = concat(['0x5f3560e01c63313ce5671461', place, '0x57'])
  return concat([head, rest, '0x5b60', byte(decimals), '0x5f5260205ff3'])
}

function byte(value: number): Hex {
  return numberToHex(value, { size: 1 })
}
