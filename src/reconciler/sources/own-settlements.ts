import { groupsOf } from '../../base/groups.ts'
import type { Hex } from '../../chain/hex.ts'
import type { Db } from '../../store/database/database.ts'
import { listFinalHashes, listOwnHashes } from '../../store/reconciliation/recorded-payments.ts'
import type { OwnPayment, SettledLog } from '../../store/reconciliation/settled-logs.ts'
import type { MinedHash } from '../chain/block-fees.ts'
import type { Node } from '../chain/node.ts'

type Asking = {
  db: Db
  chainId: number
  /** All of them must say the same. */
  nodes: readonly Node[]
  signal: AbortSignal
}

const HASHES_AT_ONCE = 5_000

/**
 * Which of the settlements are our own, and what the transactions behind those have cost, which no
 * event tells. They are asked for once in their lives, by whole blocks where many of ours are in
 * one. What the nodes do not tell alike is left out: such an order is looked at by itself.
 */
export async function readOwn(
  { db, chainId, nodes, signal }: Asking,
  logs: readonly SettledLog[],
): Promise<Map<Hex, OwnPayment>> {
  const mined: MinedHash[] = []
  const own = new Map<Hex, OwnPayment>()
  const blocks = new Map(logs.map(({ hash, block }) => [hash, block]))
  for await (const { hash, orderId } of listOwn(db, { chainId, blocks })) {
    const block = blocks.get(hash)
    if (block === undefined) continue
    mined.push({ hash, block })
    own.set(hash, { orderId, fee: undefined })
  }
  const asked = nodes.map((node) => node.fees(mined, signal))
  const [first, ...others] = await Promise.all(asked)
  for (const [hash, payment] of own) {
    const fee = first?.get(hash)
    if (others.every((one) => one.get(hash) === fee)) payment.fee = fee
  }
  return own
}

type Signed = { hash: Hex; orderId: bigint }

/** Nearly all are where we have seen them too, and cheaper to read by that than one by one. */
async function* listOwn(
  db: Db,
  { chainId, blocks }: { chainId: number; blocks: ReadonlyMap<Hex, { number: bigint }> },
): AsyncGenerator<Signed> {
  const numbers = [...blocks.values()].map(({ number }) => number)
  const [from, to] = [numbers[0], numbers.at(-1)]
  if (from === undefined || to === undefined) return
  const open = new Set(blocks.keys())
  for (const one of await listFinalHashes(db, { chainId, from, to, limit: 2 * open.size })) {
    if (open.delete(one.hash)) yield one
  }
  for (const hashes of groupsOf([...open], HASHES_AT_ONCE)) {
    yield* await listOwnHashes(db, { chainId, hashes })
  }
}
