import type { AttemptKind, Fees, Hex, Order } from '../domain/orders.ts'
import { insertAttempt } from '../store/orders/attempts.ts'
import { findNonce, openNonce, type Lease } from '../store/orders/lanes.ts'
import { requestCancel } from '../store/orders/orders.ts'
import type { SenderContext } from './context.ts'
import { bumped, isPricedOut, offerOf } from './fees.ts'
import { writeLanes } from './record.ts'
import { EMPTY_CALL_GAS, emptyCall, paymentCall, signChecked } from './sign.ts'
import { listStanding, type Slot, type LaneQueue } from './slots.ts'

export type Replacing = {
  lease: Lease
  /** What new transactions cost; asked where one may have to be signed. */
  quoting: () => Promise<Fees>
  /** Those that wait, by their ids. */
  orders: ReadonlyMap<bigint, Order>
  /** The nonce that the chain waits for, where enough providers agree on it. */
  expected: bigint | undefined
  standing: LaneQueue
}

/**
 * Signs replacements for what is stuck or to be cancelled, and fills gaps before the lowest. True:
 * the lane stands otherwise now.
 */
export async function replaceLane(context: SenderContext, replacing: Replacing): Promise<boolean> {
  const { lease, expected, orders, standing } = replacing
  const { lowest, waiting } = standing
  if (lowest === undefined || waiting.length === 0) return false
  const quote = await replacing.quoting()
  let hasReplaced = false
  for (const slot of waiting) {
    // What took a lower nonce is not known yet; a replacement there could only be refused.
    if (expected !== undefined && slot.nonce < expected) continue
    const order = slot.orderId === undefined ? undefined : orders.get(slot.orderId)
    if (await replaceSlot(context, { ...replacing, slot, order, quote })) hasReplaced = true
  }
  const isGap = expected !== undefined && expected < lowest.nonce && isOld(context, lowest)
  if (!isGap) return hasReplaced
  await fillGap(context, { lease, quote, from: expected, below: lowest.nonce })
  return true
}

type ReplacingSlot = Replacing & { slot: Slot; order: Order | undefined; quote: Fees }

async function replaceSlot(context: SenderContext, replacing: ReplacingSlot): Promise<boolean> {
  const { lease, slot, order, quote } = replacing
  const { policy } = context
  if (order !== undefined) await giveUpWithoutFunds(context, { order, slot })
  const isCancel = order?.cancelCode !== undefined && slot.newest.kind === 'payment'
  if (!isCancel && !isStuck(context, replacing)) return false
  if (slot.attempts.length >= policy.attemptsPerNonce) return false
  const { maxFeePerGas } = policy
  const fees = bumped({ before: slot.newest.fees, quote, maxFeePerGas })
  if (fees === undefined) return false
  const kind = isCancel ? 'cancel' : slot.newest.kind
  await storeReplacement(context, { lease, slot, order, kind, fees })
  return true
}

/** The bytes for a nonce exist before they are sent, as in `acceptOrder`. */
async function storeReplacement(
  context: SenderContext,
  replacement: {
    lease: Lease
    slot: Slot
    order: Order | undefined
    kind: AttemptKind
    fees: Fees
  },
): Promise<void> {
  const { lease, slot, order, kind, fees } = replacement
  const { nonce, orderId, newest } = slot
  const startedAt = context.clock.now()
  let hash: Hex | undefined
  await writeLanes(context, [lease], async (db) => {
    const standing = await listStanding(db, [lease], context.policy.inFlight)
    const now = standing.get(lease.signer)?.waiting.find((one) => one.nonce === nonce)
    if (now?.newest.id !== newest.id) return
    hash = await sign(context, db, { lease, nonce, orderId, kind, fees, order })
    context.onEvent({ kind: 'replaced', by: kind })
  })
  const endedAt = context.clock.now()
  if (hash) context.traces?.follow([{ name: 'replace', orderId, hash, startedAt, endedAt }])
}

type Signing = {
  lease: Lease
  nonce: bigint
  orderId: bigint | undefined
  kind: AttemptKind
  fees: Fees
  order: Order | undefined
}

async function sign(
  context: SenderContext,
  db: SenderContext['db'],
  signing: Signing,
): Promise<Hex> {
  const { lease, nonce, orderId, kind, fees, order } = signing
  const { chainId, signer } = lease
  const isPayment = kind === 'payment' && order !== undefined
  const call = isPayment ? paymentCall(order) : emptyCall(signer)
  const gas = isPayment ? order.gas : EMPTY_CALL_GAS
  const signed = await signChecked(context.sign, signer, { ...call, chainId, nonce, gas, fees })
  const signedAt = context.clock.now()
  await insertAttempt(db, { chainId, signer, nonce, orderId, kind, gas, fees, ...signed, signedAt })
  return signed.hash
}

async function giveUpWithoutFunds(
  context: SenderContext,
  { order, slot }: { order: Order; slot: Slot },
): Promise<void> {
  const { kind, noFundsSince } = slot.newest
  const { clock, policy, db } = context
  if (noFundsSince === undefined || kind !== 'payment') return
  const now = clock.now()
  if (now.getTime() - noFundsSince.getTime() < policy.noFundsMs) return
  await requestCancel(db, { id: order.id, code: 'insufficient_funds', now })
}

function isStuck(context: SenderContext, { slot, quote, expected }: ReplacingSlot): boolean {
  const { newest, nonce } = slot
  const { clock, policy } = context
  if (newest.sentAt === undefined) return false
  if (clock.now().getTime() - newest.sentAt.getTime() < policy.bumpAfterMs) return false
  // A higher price helps neither a broken line nor a signer without money.
  if (newest.lastAnswer === 'unreachable' || newest.lastAnswer === 'no_funds') return false
  // Transactions behind the one that the chain waits for are not stuck: they wait for their turn.
  return (
    nonce === expected || isPricedOut(newest.fees, quote) || newest.lastAnswer === 'underpriced'
  )
}

function isOld({ clock, policy }: SenderContext, { newest }: Slot): boolean {
  return clock.now().getTime() - newest.signedAt.getTime() >= policy.bumpAfterMs
}

type Gap = { lease: Lease; quote: Fees; from: bigint; below: bigint }

/** Nonces that a reorg gave back after somebody else had used them; all behind them wait. */
async function fillGap(context: SenderContext, { lease, quote, from, below }: Gap): Promise<void> {
  const fees = offerOf(quote, context.policy.maxFeePerGas)
  const end = from + BigInt(context.policy.inFlight)
  for (let nonce = from; nonce < below && nonce < end; nonce++) {
    await writeLanes(context, [lease], async (db) => {
      if ((await findNonce(db, { ...lease, nonce })) !== undefined) return
      const orderId = undefined
      await openNonce(db, { ...lease, nonce, orderId })
      await sign(context, db, { lease, nonce, orderId, kind: 'filler', fees, order: undefined })
    })
  }
}
