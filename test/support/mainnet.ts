import { readFileSync } from 'node:fs'

import type { Hex } from 'viem'

export type ShownReceipt = {
  type: Hex
  transactionHash: Hex
  transactionIndex: Hex
  status: Hex
  logs: { address: Hex; topics: Hex[]; data: Hex; logIndex: Hex }[]
}

export type ShownBlock = { hash: Hex; receiptsRoot: Hex; transactions: Hex[] } & Record<
  string,
  unknown
>

/** A real block of 202 receipts, as a node shows it. */
export function mainnetBlock(): { block: ShownBlock; receipts: ShownReceipt[] } {
  const read = (name: string) =>
    JSON.parse(readFileSync(`test/data/mainnet-block-21925176/${name}.json`, 'utf8'))
  return { block: read('block'), receipts: read('receipts') }
}
