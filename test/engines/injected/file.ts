import type { BreakKind } from '../../../src/domain/breaks.ts'
import { csvFile, placeOf, reconcileFile } from '../../fixtures/books/reconcile.ts'
import { startPaidChain } from '../../fixtures/books/verify.ts'
import { startFaultyProxy, type FaultyProxy } from '../../fixtures/chain/faulty-proxy.ts'
import { createKeyedDraw } from '../../fixtures/random.ts'
import { settleMany } from './paid-orders.ts'
import { injectRecords, type Injected } from './records.ts'
import { scoreOf, type KindScore } from './score.ts'

export type Scored = { good: number; matched: number; scores: readonly KindScore[] }

const RECEIPTS = ['eth_getTransactionReceipt', 'eth_getBlockReceipts']

/**
 * Good records of a file, bad ones of each kind among them, and two nodes: both hold receipts of
 * blocks that are gone, and one says of some transactions what the other denies.
 */
export async function scoreFile(size: { good: number; ofEach: number }): Promise<Scored> {
  const world = await startPaidChain()
  const nodes: FaultyProxy[] = []
  try {
    const settlements = await settleMany(world, size.good)
    const { rows, expected, ...lies } = await injectRecords(world, settlements, size.ofEach)
    nodes.push(await startNode(world.chain.url, { ...lies, disputed: new Set() }))
    nodes.push(await startNode(world.chain.url, lies))
    const place = { ...placeOf(world), urls: nodes.map(({ url }) => url) }
    const { totals, findings } = await reconcileFile(csvFile(rows), place, { confirmations: 2 })
    const found = findings.map((one): { about: string; kind: BreakKind } => ({
      about: one.transactionId ?? '',
      kind: one.kind,
    }))
    return { good: size.good, matched: totals.matched, scores: scoreOf(expected, found) }
  } finally {
    for (const node of nodes) await node.stop()
    await world.chain.stop()
  }
}

/** The real node behind it; of the named transactions alone it does not tell the truth. */
function startNode(
  target: string,
  { stale, disputed }: Pick<Injected, 'stale' | 'disputed'>,
): Promise<FaultyProxy> {
  const about = (some: ReadonlySet<string>) => ({ chance: 1, methods: RECEIPTS, about: some })
  const plan = { wrong_block_hash: about(stale), wrong_status: about(disputed) }
  return startFaultyProxy({ target, random: createKeyedDraw(1), plan })
}
