import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { BlockReplacedError, type BlockReader } from '../chain/read/blocks.ts'
import type { ReadFinal } from '../chain/read/final.ts'
import type { PaidReceiptReader } from '../chain/read/paid-receipts.ts'
import type { MinedSettlement, SettlementReader } from '../chain/read/settlements.ts'
import { dueOf, isDust } from '../domain/gateways.ts'
import type { Hex } from '../domain/orders.ts'
import type { PermitDomain } from '../domain/tokens.ts'
import type { Db } from '../store/database/database.ts'
import { findCharge, lockCharge, type Charge } from '../store/rails/charges.ts'
import { listUnpriced, priceClosing } from '../store/rails/checkout-closings.ts'
import {
  countSmallPayments,
  findOldestUnpaid,
  findReferenced,
  forgetElsewhere,
  insertCheckoutPayment,
  isCheckoutAwaited,
  listExpired,
  listOverpaidOpen,
  readCheckoutCursor,
  writeCheckoutCursor,
  type CheckoutCursor,
  type CheckoutPayment,
} from '../store/rails/checkouts.ts'
import { applyView } from './charge-rail.ts'
import { coinOf, judge } from './checkout-judge.ts'
import { closeReorged, forgetReplaced } from './checkout-reorgs.ts'

/** Where our own checkout is paid: through the settlement contract, to this payee. */
export type CheckoutTerms = {
  chainId: number
  settlement: Hex
  payee: Hex
  /** What gas is paid in; absent: ether. Nothing but ether and dollars is asked for. */
  coin?: string | undefined
  /** The dollar token, one to one; absent: dollars cannot be paid. */
  stablecoin: Hex | undefined
  /** What a payer knows that token by, such as "USDC on Base". */
  tokenName?: string | undefined
  /** What wallets show as its unit, such as "USDC". */
  tokenSymbol?: string | undefined
  /** Whom a payer pays, by the name that the operator chose. */
  seller?: string | undefined
  /** What its permits are signed for; absent: it takes none. */
  permitDomain?: PermitDomain | undefined
  /** Asks the token whether dollars cannot be paid now. */
  readObstacle?: (() => Promise<CheckoutObstacle | undefined>) | undefined
}

/** What its issuer has done: nobody is paid in the token, or the payee is not. */
export type CheckoutObstacle = 'token_paused' | 'payee_frozen'

export type CheckoutDeps = {
  db: Db
  terms: CheckoutTerms
  readFinal: ReadFinal
  readBlock: BlockReader
  settlements: SettlementReader
  readReceipt: PaidReceiptReader
  clock: Clock
  logger: Logger
}

/**
 * Reads the final blocks that were not read yet, and moves the charges that were paid in them or
 * whose time passed in them. True while there are more.
 */
export async function checkoutPass(deps: CheckoutDeps, signal: AbortSignal): Promise<boolean> {
  const { db, terms, readFinal } = deps
  const final = await readFinal(signal)
  const span =
    final === undefined ? undefined : { final, cursor: await readCheckoutCursor(db, terms) }
  if (span !== undefined && (await isQuiet(deps, span))) return false
  const isMore = span !== undefined && (await readBlocks(deps, span, signal))
  await priceClosings({ ...deps, chainId: terms.chainId }, signal)
  return isMore
}

type Span = { final: bigint; cursor: CheckoutCursor | undefined }

/** Few blocks are new, and nobody is to pay in them. */
async function isQuiet({ db, terms, clock }: CheckoutDeps, { final, cursor }: Span) {
  if (cursor === undefined || final >= cursor.blockNumber + QUIET_BLOCKS) return false
  const since = new Date(clock.now().getTime() - RECENT_MS)
  return !(await isCheckoutAwaited(db, { ...terms, since }))
}

async function readBlocks(
  deps: CheckoutDeps,
  { final, cursor }: Span,
  signal: AbortSignal,
): Promise<boolean> {
  const { db, terms, readBlock, settlements } = deps
  const from =
    cursor === undefined
      ? await firstBlock(deps, final, signal)
      : await nextAfter(deps, cursor, signal)
  if (from === undefined || from > final) return false
  const { chainId } = terms
  await forgetReplaced(deps, { chainId, from, to: final }, signal)
  const to = final < from + MAX_BLOCKS ? final : from + MAX_BLOCKS - 1n
  const last = await readBlock(to, signal)
  if (last === undefined) return false
  for (const settled of await settlements({ from, to }, signal)) {
    await takeIn(deps, settled, signal)
  }
  const before = new Date(last.time.getTime() - GRACE_MS)
  for (const transactionId of await listExpired(db, { chainId, before, limit: 100 })) {
    await expire(db, transactionId)
  }
  await writeCheckoutCursor(db, terms, { blockNumber: to, blockHash: last.hash })
  return to < final
}

const MAX_BLOCKS = 10_000n

/** So many blocks may gather while nobody is to pay: looking at each would cost for nothing. */
const QUIET_BLOCKS = 16n

/** For so long after its time, what still comes for a charge is shown at once. */
const RECENT_MS = 24 * 3_600_000

/** So long a payment that is late still finds its charge undecided, and people may accept it. */
export const GRACE_MS = 15 * 60_000

/** How far to go back where a block that was final is gone, which should not happen. */
const REWIND_BLOCKS = 256n

/**
 * The first block in which a waiting charge can have been paid: charges are also made while nobody
 * reads. Where none waits, it is the last final block, since younger ones are still to be read.
 */
async function firstBlock(
  { db, readBlock, terms }: CheckoutDeps,
  final: bigint,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const oldest = await findOldestUnpaid(db, terms.chainId)
  if (oldest === undefined) return final
  // The clock of the program that made it may be ahead of the chain's.
  const since = new Date(oldest.getTime() - GRACE_MS)
  let [low, high] = [0n, final]
  while (low < high) {
    const middle = (low + high) / 2n
    const block = await readBlock(middle, signal)
    if (block === undefined) return undefined
    if (block.time < since) low = middle + 1n
    else high = middle
  }
  return low
}

/** Undefined while the node does not know the block that was read last. */
async function nextAfter(
  { readBlock, logger }: CheckoutDeps,
  { blockNumber, blockHash }: CheckoutCursor,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const known = await readBlock(blockNumber, signal)
  if (known === undefined) return undefined
  if (known.hash === blockHash) return blockNumber + 1n
  logger.error({ block: String(blockNumber) }, 'a final block was replaced by another')
  return blockNumber > REWIND_BLOCKS ? blockNumber - REWIND_BLOCKS : 0n
}

async function takeIn(
  { db, terms, readBlock, clock }: CheckoutDeps,
  settled: MinedSettlement,
  signal: AbortSignal,
): Promise<void> {
  const { reference } = settled
  const transactionId = await findReferenced(db, { ...terms, reference })
  // The payee is paid for other things as well.
  if (transactionId === undefined) return
  const block = await readBlock(settled.blockNumber, signal)
  if (block === undefined || block.hash !== settled.blockHash) {
    throw new BlockReplacedError()
  }
  await db.transaction().execute(async (db) => {
    // Work that takes in another part, or decides on the payments, waits for this lock.
    const charge = await lockCharge(db, transactionId)
    if (charge === undefined) return
    const payment = paymentOf({ terms, charge, settled, paidAt: block.time })
    await forgetElsewhere(db, payment)
    if (await isTooSmallToKeep(db, { charge, payment })) return
    if (!(await insertCheckoutPayment(db, payment)) || payment.verdict === 'wrong_token') return
    await judge(db, charge)
    await closeReorged(db, { ...payment, now: clock.now() })
  })
}

/**
 * Anybody may send any token, and next to nothing of the right one, to a charge whose reference is
 * known: so many of those are kept. What is more than dust is kept always, and costs its sender.
 */
async function isTooSmallToKeep(
  db: Db,
  { charge, payment }: { charge: Charge; payment: CheckoutPayment },
): Promise<boolean> {
  const due = dueOf(charge)
  const isSmall = payment.verdict === 'wrong_token' || isDust({ amount: payment.amount, due })
  if (!isSmall) return false
  const { transactionId } = charge
  return (await countSmallPayments(db, { transactionId, due })) >= MAX_SMALL_PAYMENTS
}

export const MAX_SMALL_PAYMENTS = 200

/** Completes what waits with more than is due, as programs of before left it. Once, at a start. */
export async function judgeOverpaid({
  db,
  terms,
}: Pick<CheckoutDeps, 'db' | 'terms'>): Promise<void> {
  for (const transactionId of await listOverpaidOpen(db, terms.chainId)) {
    await db.transaction().execute(async (db) => {
      const charge = await lockCharge(db, transactionId)
      if (charge !== undefined) await judge(db, charge)
    })
  }
}

function paymentOf(facts: {
  terms: CheckoutTerms
  charge: Charge
  settled: MinedSettlement
  paidAt: Date
}): CheckoutPayment {
  const { terms, charge, settled, paidAt } = facts
  const { token } = settled
  const coin = coinOf(charge, terms)
  const isWanted = coin !== undefined && token === coin.token?.toLowerCase()
  const isLate = charge.expiresAt !== undefined && paidAt > charge.expiresAt
  return {
    chainId: terms.chainId,
    transactionHash: settled.transactionHash,
    logIndex: settled.logIndex,
    transactionId: charge.transactionId,
    reference: settled.reference,
    payer: settled.payer,
    place: { contract: terms.settlement, payee: terms.payee },
    token,
    amount: settled.amount,
    verdict: !isWanted ? 'wrong_token' : isLate ? 'late' : 'counted',
    blockNumber: settled.blockNumber,
    blockHash: settled.blockHash,
    paidAt,
  }
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

/**
 * Reads the cost of the transactions that closed charges. The first one without an answer ends the
 * pass, and the next pass begins with others: no charge waits for its gas.
 */
export async function priceClosings(
  deps: { db: Db; readReceipt: PaidReceiptReader; logger: Logger; chainId: number },
  signal: AbortSignal,
): Promise<void> {
  const { db, readReceipt, logger, chainId } = deps
  for (const one of await listUnpriced(db, { chainId, limit: AT_ONCE })) {
    const { id, transactionHash: hash, blockHash, logIndex } = one
    try {
      const receipt = await readReceipt({ hash, logIndex }, signal)
      // Of another block it is another receipt: what has become of this one is still to be read.
      const isSame = blockHash === null || receipt?.blockHash === blockHash
      if (receipt === undefined || !isSame) return
      const { gasUsed, gasPrice, contract } = receipt
      const payee = receipt.settled.payee
      await priceClosing(db, { id, gasUsed, gasPrice, contract, payee })
    } catch (error) {
      if (signal.aborted) return
      logger.warn({ hash, problem: messageOf(error) }, 'the gas of a checkout payment is not known')
      return
    }
  }
}

const AT_ONCE = 50
