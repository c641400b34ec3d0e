import type { Hex } from '../chain/hex.ts'
import type { Db } from '../store/database.ts'
import { listOwnHashes } from '../store/recorded-payments.ts'
import type { SettledLog } from '../store/settled-logs.ts'
import type { MinedHash } from './block-fees.ts'
import type { Node } from './node.ts'

type Asking = {
  db: Db
  chainId: number
  nodes: readonly Node[]
  /** How many must say the same. */
  needed: number
  signal: AbortSignal
}

const HASHES_AT_ONCE = 5_000

/**
 * What the transactions behind our own settlements have cost, which no event tells. They are asked
 * for once in their lives, by whole blocks where many of ours are in one. What too few nodes tell
 * alike is left out: such an order is looked at by itself.
 */
export async function readFees(
  { db, chainId, nodes, needed, signal }: Asking,
  logs: readonly SettledLog[],
): Promise<Map<Hex, bigint>> {
  const own = await ownOf(db, { chainId, logs })
  const asked = nodes.slice(0, needed).map((node) => node.fees(own, signal))
  const [first, ...others] = await Promise.all(asked)
  const fees = new Map<Hex, bigint>()
  for (const [hash, fee] of first ?? []) {
    if (others.every((one) => one.get(hash) === fee)) fees.set(hash, fee)
  }
  return fees
}

async function ownOf(
  db: Db,
  { chainId, logs }: { chainId: number; logs: readonly SettledLog[] },
): Promise<MinedHash[]> {
  const blocks = new Map(logs.map(({ hash, block }) => [hash, block]))
  const all = [...blocks.keys()]
  const own: MinedHash[] = []
  for (let at = 0; at < all.length; at += HASHES_AT_ONCE) {
    const hashes = all.slice(at, at + HASHES_AT_ONCE)
    for (const hash of await listOwnHashes(db, { chainId, hashes })) {
      const block = blocks.get(hash)
      if (block !== undefined) own.push({ hash, block })
    }
  }
  return own
}
