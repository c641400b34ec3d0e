import { concat, numberToHex, pad, size, slice, toEventSelector, type Hex } from 'viem'

import type { PaidChain } from './verify.ts'

/** What a contract of bad faith writes into a receipt. */
export type Written = { topics: readonly Hex[]; data: Hex }

/** Puts a contract there that logs just this when it is called, whatever is true. */
export async function writeLogs(
  { chain }: PaidChain,
  at: { address: Hex; logs: readonly Written[] },
): Promise<void> {
  const params = [at.address, concat([...at.logs.map(codeOf), '0x00'])]
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

function byte(value: number): Hex {
  return numberToHex(value, { size: 1 })
}
