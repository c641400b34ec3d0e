import { CURRENCY_DECIMALS, STABLECOIN_DECIMALS } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { SettlementReader, MinedSettlement } from '../chain/settlements.ts'
import type { ReadFinal } from '../chain/final.ts'
import type { SupplyReader } from '../chain/supply.ts'
import { findCharge, lockCharge, type Charge } from '../store/charges.ts'
import {
  findReferenced,
  insertCheckoutPayment,
  listExpired,
  readCheckoutCursor,
  sumCheckoutPayments,
  writeCheckoutCursor,
  type CheckoutPayment,
} from '../store/checkouts.ts'
import type { Db } from '../store/database.ts'
import { applyView } from './charge-rail.ts'
import type { ChargeView } from './gateway.ts'

/** Where our own checkout is paid: through the settlement contract, to this payee. */
export type CheckoutTerms = {
  chainId: number
  settlement: Hex
  payee: Hex
  /** The dollar token, one to one; absent: dollars cannot be paid. */
  stablecoin: Hex | undefined
}

export type CheckoutDeps = {
  db: Db
  terms: CheckoutTerms
  readFinal: ReadFinal
  blocks: Pick<SupplyReader, 'block'>
  settlements: SettlementReader
}

/** What is due, in the unit of what it is paid in: wei, or millionths of the dollar token. */
export function dueOf({ amount, currency }: Pick<Charge, 'amount' | 'currency'>): bigint {
  const more = currency === 'ETH' ? 0 : STABLECOIN_DECIMALS - CURRENCY_DECIMALS[currency]
  return amount * 10n ** BigInt(more)
}

/**
 * Reads the final blocks that were not read yet, and moves the charges that were paid in them or
 * whose time passed in them. True while there are more.
 */
export async function checkoutPass(deps: CheckoutDeps, signal: AbortSignal): Promise<boolean> {
  const { db, terms, readFinal, blocks, settlements } = deps
  const final = await readFinal(signal)
  if (final === undefined) return false
  const cursor = await readCheckoutCursor(db, terms)
  // Nothing that is older than the first look can pay a charge that was not made yet.
  const known = cursor && (await blocks.block(cursor.blockNumber, signal))
  const isSame = known?.hash === cursor?.blockHash
  const next = cursor === undefined ? final.value : cursor.blockNumber + 1n
  const from = isSame ? next : max(0n, next - REWIND_BLOCKS)
  if (from > final.value) return false
  const to = final.value < from + MAX_BLOCKS ? final.value : from + MAX_BLOCKS - 1n
  const last = await blocks.block(to, signal)
  if (last === undefined) return false
  for (const settled of await settlements({ from, to }, signal)) {
    await takeIn(deps, settled, signal)
  }
  const before = new Date(last.time.getTime() - GRACE_MS)
  for (const transactionId of await listExpired(db, { before, limit: 100 })) {
    await expire(db, transactionId)
  }
  await writeCheckoutCursor(db, terms, { blockNumber: to, blockHash: last.hash })
  return to < final.value
}

const MAX_BLOCKS = 10_000n

/** So long a payment that is late still finds its charge undecided, and people may accept it. */
export const GRACE_MS = 15 * 60_000

/** How far to go back where a block that was final is gone, which should not happen. */
const REWIND_BLOCKS = 256n

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

async function takeIn(
  { db, terms, blocks }: CheckoutDeps,
  settled: MinedSettlement,
  signal: AbortSignal,
): Promise<void> {
  const reference = settled.reference.toLowerCase() as Hex
  const transactionId = await findReferenced(db, reference)
  // The payee is paid for other things as well.
  if (transactionId === undefined) return
  const block = await blocks.block(settled.blockNumber, signal)
  if (block === undefined || block.hash !== settled.blockHash) {
    throw new RangeError('a block was replaced while its settlements were read')
  }
  await db.transaction().execute(async (db) => {
    // Whoever takes in another part, or decides on what has come, waits for this one.
    const charge = await lockCharge(db, transactionId)
    if (charge === undefined) return
    const payment = paymentOf({ terms, charge, settled, paidAt: block.time })
    if (await insertCheckoutPayment(db, payment)) await judge(db, charge, payment)
  })
}

function paymentOf(facts: {
  terms: CheckoutTerms
  charge: Charge
  settled: MinedSettlement
  paidAt: Date
}): CheckoutPayment {
  const { terms, charge, settled, paidAt } = facts
  const token = settled.token?.toLowerCase() as Hex | undefined
  const wanted = charge.currency === 'ETH' ? undefined : terms.stablecoin?.toLowerCase()
  const isLate = charge.expiresAt !== undefined && paidAt > charge.expiresAt
  return {
    chainId: terms.chainId,
    transactionHash: settled.transactionHash,
    logIndex: settled.logIndex,
    transactionId: charge.transactionId,
    payer: settled.payer.toLowerCase() as Hex,
    token,
    amount: settled.amount,
    verdict: token !== wanted ? 'wrong_token' : isLate ? 'late' : 'counted',
    blockNumber: settled.blockNumber,
    paidAt,
  }
}

async function judge(db: Db, charge: Charge, payment: CheckoutPayment): Promise<void> {
  const { counted, late } = await sumCheckoutPayments(db, charge.transactionId)
  const { externalId } = charge
  const view = (status: ChargeView['status'], gatewayStatus: string): ChargeView => ({
    status,
    gatewayStatus,
    externalId,
    received: counted + late,
  })
  await applyView(db, charge, viewOf({ charge, payment, counted, view }))
}

/** What is neither the whole nor in time is left to people, with what is due and what has come. */
function viewOf(facts: {
  charge: Charge
  payment: CheckoutPayment
  counted: bigint
  view: (status: ChargeView['status'], gatewayStatus: string) => ChargeView
}): ChargeView {
  const { charge, payment, counted, view } = facts
  const { errorCode } = charge
  const due = dueOf(charge)
  const isPaid = charge.status === 'completed' || charge.status === 'refunded'
  // What was accepted stays so, unless there is now too much.
  const paidAs = charge.gatewayStatus === 'RESOLVED' ? 'RESOLVED' : 'COMPLETED'
  if (isPaid) return view('completed', counted > due ? 'OVERPAID' : paidAs)
  // Nothing follows a charge that has expired or was refused, but what comes is shown.
  if (charge.status === 'failed') return { ...view('failed', 'DELAYED'), errorCode }
  if (payment.verdict === 'late') return view('processing', 'DELAYED')
  if (payment.verdict === 'wrong_token' && counted === 0n) return view('processing', 'WRONG_TOKEN')
  if (counted === due) return view('completed', 'COMPLETED')
  return view('processing', counted < due ? 'UNDERPAID' : 'OVERPAID')
}

async function expire(db: Db, transactionId: string): Promise<void> {
  const charge = await findCharge(db, transactionId)
  if (charge?.status !== 'pending') return
  const { externalId } = charge
  await db.transaction().execute(async (db) =>
    applyView(db, charge, {
      status: 'failed',
      gatewayStatus: 'EXPIRED',
      errorCode: 'expired',
      externalId,
    }),
  )
}
