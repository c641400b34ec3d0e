import { BaseError } from '../base/errors.ts'
import type { Hex } from '../chain/hex.ts'
import type { Db } from '../store/database.ts'
import { listOwnHashes } from '../store/recorded-payments.ts'
import type { SettledLog } from '../store/settled-logs.ts'
import type { ReceiptFacts } from './node-facts.ts'
import type { Node } from './node.ts'

type Asking = {
  db: Db
  chainId: number
  nodes: readonly Node[]
  /** How many must say the same. */
  needed: number
  signal: AbortSignal
}

const HASHES_AT_ONCE = 2_000

/**
 * What the transactions behind our own settlements have cost, which no event tells. They are asked
 * for once in their lives, by whole blocks where many of ours are in one. What too few nodes tell
 * alike is left out: such an order is looked at by itself.
 */
export async function readFees(
  { db, chainId, nodes, needed, signal }: Asking,
  logs: readonly SettledLog[],
): Promise<Map<Hex, bigint>> {
  const fees = new Map<Hex, bigint>()
  const blocks = new Map(logs.map(({ hash, block }) => [hash, block.hash]))
  const hashes = [...blocks.keys()]
  for (let at = 0; at < hashes.length; at += HASHES_AT_ONCE) {
    const some = hashes.slice(at, at + HASHES_AT_ONCE)
    const own = await listOwnHashes(db, { chainId, hashes: some })
    if (own.length === 0) continue
    const asked = nodes.slice(0, needed).map((node) => node.receipts(own, signal))
    const [first, ...others] = await Promise.all(asked)
    for (const hash of own) {
      const fee = feeIn(first?.get(hash), blocks.get(hash))
      const isShared = others.every((one) => feeIn(one.get(hash), blocks.get(hash)) === fee)
      if (fee !== undefined && isShared) fees.set(hash, fee)
    }
  }
  return fees
}

function feeIn(
  answer: ReceiptFacts | BaseError | null | undefined,
  block: Hex | undefined,
): bigint | undefined {
  if (!answer || answer instanceof BaseError) return undefined
  return answer.block.hash === block ? answer.fee : undefined
}
