import { codeOf } from '../base/errors.ts'
import { groupsOf } from '../base/groups.ts'
import { signedFor, type Attempt, type Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { forgetBlock, recordBlocks } from '../store/orders/attempts.ts'
import type { Lease } from '../store/orders/lanes.ts'
import { moveBundled, moveOrder, tryMoveOrders } from '../store/orders/orders.ts'
import {
  findSeen,
  findTaker,
  nonceOnChain,
  type ChainLook,
  type CanonicalReceipt,
} from './chain-view.ts'
import { closeSlots } from './close.ts'
import type { OrderStep, SenderContext } from './context.ts'
import { moveTakenSlot } from './move.ts'
import { writeLanes } from './record.ts'
import { listTaken, minedOf, type Slot } from './slots.ts'

type Following = {
  leases: readonly Lease[]
  counts: ReadonlyMap<Hex, bigint | undefined>
  look: ChainLook
  /** Those that another worker took meanwhile; they are left to it. */
  lost: Set<Lease>
}

/**
 * Brings the open nonces of lanes to what the chain says of them. `counts` has how many
 * transactions of each signer are in blocks, as far as enough providers agree.
 */
export async function followLanes(
  context: SenderContext,
  { leases, look, lost, counts }: Following,
): Promise<void> {
  const known = leases.flatMap((lease) => {
    const latest = counts.get(lease.signer)
    return latest === undefined ? [] : [{ lease, latest }]
  })
  if (known.length === 0) return
  const lanes = known.map(({ lease, latest }) => ({ ...lease, latest }))
  const taken = await listTaken(context.db, lanes, MAX_SLOTS)
  const all = known.flatMap(({ lease }) =>
    (taken.get(lease.signer) ?? []).map((slot) => ({ lease, slot })),
  )
  await eachByItself(groupsOf(all.toSorted(byBlock), SLOTS_AT_ONCE), async (some) => {
    const news = await Promise.all(some.map(({ slot }) => newsOf(slot, look)))
    const told = some.map((one, at): SlotReport => ({
      ...one,
      news: news[at] ?? { kind: 'unknown' },
    }))
    const recording = () => recordSeen(context, { look, told, lost })
    const applying = () => eachHeld(told, lost, (one) => apply(context, { look, ...one }))
    await eachByItself([recording, applying], (step) => step())
  })
}

/** Those in a block first: what a block makes final is recorded by few statements. */
function byBlock(one: LaneSlot, other: LaneSlot): number {
  return heightOf(one) - heightOf(other)
}

function heightOf({ slot }: LaneSlot): number {
  return Number(minedOf(slot)?.block?.number ?? Number.MAX_SAFE_INTEGER)
}

type LaneSlot = { lease: Lease; slot: Slot }

/** One that fails keeps no other from its turn; the first failure is thrown at the end. */
async function eachByItself<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const item of items) {
    try {
      await work(item)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** The same of those whose lane no other worker took; one that it took is left to it at once. */
async function eachHeld<T extends { lease: Lease }>(
  items: readonly T[],
  lost: Set<Lease>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  await eachByItself(items, async (item) => {
    if (lost.has(item.lease)) return
    try {
      await work(item)
    } catch (error) {
      if (codeOf(error) !== 'lane_lost') throw error
      lost.add(item.lease)
    }
  })
}

type SlotReport = LaneSlot & { news: SlotNews }

/**
 * Of each lane, of those in a block and of the others each. Those beyond wait for the lower ones in
 * any case.
 */
const MAX_SLOTS = 512
const SLOTS_AT_ONCE = 64

type SlotNews =
  | { kind: 'unknown' }
  | { kind: 'seen'; attempt: Attempt; seen: CanonicalReceipt }
  | { kind: 'gone'; attempt: Attempt }
  | { kind: 'unseen' }

async function newsOf(slot: Slot, look: ChainLook): Promise<SlotNews> {
  const mined = minedOf(slot)
  if (mined?.block === undefined) return newsOfSigned(slot, look)
  const { block } = mined
  const hash = await look.hashAt(block.number)
  if (hash === undefined) return { kind: 'unknown' }
  if (hash === block.hash && !isFinal(block.number, look)) return { kind: 'unknown' }
  const seen = await findSeen(look, mined)
  if (seen !== undefined) return { kind: 'seen', attempt: mined, seen }
  return hash === block.hash ? { kind: 'unknown' } : { kind: 'gone', attempt: mined }
}

/** Something took the nonce, maybe one of ours. */
async function newsOfSigned({ attempts }: Slot, look: ChainLook): Promise<SlotNews> {
  for (const attempt of attempts.toReversed()) {
    const seen = await findSeen(look, attempt)
    if (seen !== undefined) return { kind: 'seen', attempt, seen }
  }
  return { kind: 'unseen' }
}

/** What is in a block is recorded together, or one by one where one of them cannot be. */
async function recordSeen(
  context: SenderContext,
  { look, told, lost }: Pick<Following, 'look' | 'lost'> & { told: readonly SlotReport[] },
): Promise<void> {
  const seen = told.flatMap(({ lease, slot, news }) =>
    news.kind === 'seen' && !lost.has(lease) ? { lease, slot, ...news } : [],
  )
  if (seen.length === 0) return
  const write = async (some: typeof seen) => {
    const leases = [...new Set(some.map(({ lease }) => lease))]
    await writeLanes(context, leases, async (db) => record(context, db, { look, seen: some }))
    const { clock, traces } = context
    traces?.follow(some.flatMap((one) => stepsOf(one, { look, endedAt: clock.now() })))
  }
  try {
    await write(seen)
  } catch (error) {
    if (seen.length === 1 && codeOf(error) !== 'lane_lost') throw error
    await eachHeld(seen, lost, (one) => write([one]))
  }
}

/** From when it was sent on: in a block, and final there. */
function stepsOf(one: Mined, { look, endedAt }: { look: ChainLook; endedAt: Date }): OrderStep[] {
  const { attempt, seen } = one
  const { orderId, hash, signedAt, sentAt: startedAt = signedAt } = attempt
  const { block } = seen
  const step = { orderId, hash, startedAt, endedAt, block }
  return [
    ...(isNews(one) ? [{ ...step, name: 'mined' as const }] : []),
    ...(isFinal(block.number, look) ? [{ ...step, name: 'final' as const }] : []),
  ]
}

type Applying = SlotReport & { look: ChainLook }

async function apply(context: SenderContext, applying: Applying): Promise<void> {
  const { lease, look, slot, news } = applying
  switch (news.kind) {
    case 'unknown':
    case 'seen':
      return
    case 'gone':
      await forget(context, { ...applying, ...news })
      return
    case 'unseen':
      await lookForTaker(context, { lease, look, slot })
      return
    default:
      news satisfies never
  }
}

type Mined = { slot: Slot; attempt: Attempt; seen: CanonicalReceipt }

async function record(
  context: SenderContext,
  db: Db,
  { look, seen: all }: { look: ChainLook; seen: readonly Mined[] },
): Promise<void> {
  const news = all.filter(isNews)
  if (news.length > 0) {
    const blocks = news.map(({ attempt, seen }) => {
      return { id: attempt.id, from: attempt.state, to: 'mined' as const, block: seen.block }
    })
    await recordBlocks(db, blocks)
    await markMined(context, db, news)
  }
  const final = all.filter(({ seen }) => isFinal(seen.block.number, look))
  if (final.length > 0) await closeSlots(context, db, final)
}

/** Whether it was in no block before, or in another one. */
function isNews({ attempt, seen }: Pick<Mined, 'attempt' | 'seen'>): boolean {
  return attempt.state !== 'mined' || attempt.block?.hash !== seen.block.hash
}

async function markMined(context: SenderContext, db: Db, mined: readonly Mined[]): Promise<void> {
  const now = context.clock.now()
  const hashes = new Map(mined.map(({ slot, attempt }) => [slot.orderId, attempt.hash]))
  const moves = [...hashes.keys()].flatMap((id) =>
    id === undefined ? [] : { id, from: 'accepted' as const, to: 'mined' as const, now },
  )
  const orders = await tryMoveOrders(db, moves)
  const bundled = await moveBundled(db, orders)
  await context.onMoved(
    db,
    [...orders, ...bundled].map((order) => ({ order, hash: hashes.get(signedFor(order))! })),
  )
}

/** A reorg took the block. The same raw transaction is broadcast again, and nothing else is. */
async function forget(
  context: SenderContext,
  { lease, slot, attempt }: Applying & { attempt: Attempt },
): Promise<void> {
  const { orderId } = slot
  const { hash } = attempt
  const startedAt = context.clock.now()
  const trace = await context.traces?.fieldsOf(context.db, orderId)
  context.logger.warn({ hash, ...trace }, 'a reorg took the block of a transaction')
  context.onEvent({ kind: 'reorged' })
  await writeLanes(context, [lease], async (db) => {
    await forgetBlock(db, attempt.id)
    if (orderId === undefined) return
    const now = context.clock.now()
    await moveBundled(db, [
      await moveOrder(db, { id: orderId, from: 'mined', to: 'accepted', now }),
    ])
  })
  const endedAt = context.clock.now()
  context.traces?.follow([{ name: 'reorg', orderId, hash, startedAt, endedAt }])
}

/**
 * Safety rule 3 (docs/safety.md): neither an error nor a null receipt moves an order. Only a
 * transaction that is not ours, named by enough providers and final at this nonce, does.
 */
async function lookForTaker(
  context: SenderContext,
  { lease, look, slot }: { lease: Lease; look: ChainLook; slot: Slot },
): Promise<void> {
  const { final, quorum } = look
  if (final === undefined) return
  const { signer } = lease
  const { nonce, attempts } = slot
  const finalCount = await nonceOnChain(quorum, { signer, at: final.number })
  if (finalCount === undefined || finalCount <= nonce) return
  const taker = await findTaker(quorum, { signer, nonce, high: final.number })
  if (taker === undefined || attempts.some(({ hash }) => hash === taker.hash)) return
  if ((await look.hashAt(taker.block.number)) !== taker.block.hash) return
  await moveTakenSlot(context, { lease, quorum, slot, taker })
}

function isFinal(number: bigint, { final }: ChainLook): boolean {
  return final !== undefined && number <= final.number
}
