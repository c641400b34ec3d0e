import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { checksummed } from '../chain/hex.ts'
import type { BlockReader, TimedBlock } from '../chain/read/blocks.ts'
import type { ReadFinal } from '../chain/read/final.ts'
import type { Incoming, IncomingBlock, IncomingReader } from '../chain/read/incoming.ts'
import { createId, type RandomBytes } from '../domain/ids.ts'
import { decimalsOf, isAmount, type Unit } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import { unitOfCoin } from '../domain/coins.ts'
import { unitOf, type Token } from '../domain/tokens.ts'
import type { Db } from '../store/database/database.ts'
import { findReferenced } from '../store/rails/checkouts.ts'
import { forgetBalances } from '../store/rails/balances.ts'
import {
  forgetDeposits,
  forgetOwnArrivals,
  insertDeposits,
  insertOwnArrivals,
  listDepositBlocks,
  listGoneHashes,
  listOwners,
  moveDepositCursor,
  readDepositCursor,
  returnDeposit,
  type Deposit,
  type DepositBlock,
  type DepositCursor,
  type OwnArrival,
} from '../store/rails/deposits.ts'
import {
  moveTransactions,
  recordTransactions,
  type NewTransaction,
} from '../store/transactions/transactions.ts'
import { closeReorged, openReorged } from './checkout-reorgs.ts'

export type DepositDeps = {
  db: Db
  chainId: number
  /** What gas is paid in; absent: ether. */
  coin?: string | undefined
  /** Those that are configured. */
  tokens: readonly Token[]
  /** The platform's own addresses, where nothing is a deposit, and all is accounted for. */
  own: readonly Hex[]
  /** Where our own checkouts are paid. */
  checkoutPayee: Hex
  readFinal: ReadFinal
  readBlock: BlockReader
  incoming: IncomingReader
  randomBytes: RandomBytes
  clock: Clock
  logger: Logger
}

/**
 * Reads the final blocks that were not read yet, and records what came to users' addresses in them.
 * True while there are more. Any number of processes may do it: a block is recorded together with
 * the cursor, which only one of them moves.
 */
export async function depositPass(deps: DepositDeps, signal: AbortSignal): Promise<boolean> {
  const { db, chainId, readFinal, readBlock, incoming } = deps
  const final = await readFinal(signal)
  if (final === undefined) return false
  let cursor = await readDepositCursor(db, chainId)
  if (cursor === undefined) {
    // The records do not include payments from before the platform knew its users' addresses.
    const block = await readBlock(final, signal)
    if (block !== undefined) await moveDepositCursor(db, chainId, { from: undefined, to: block })
    return false
  }
  if (final <= cursor.blockNumber) return false
  const { blockNumber } = cursor
  const last = final < blockNumber + MAX_BLOCKS ? final : blockNumber + MAX_BLOCKS
  const numbers = Array.from(
    { length: Number(last - blockNumber) },
    (_, place) => blockNumber + 1n + BigInt(place),
  )
  const read = await readBlocks(numbers, (number) => incoming.block(number, signal))
  let hash = cursor.blockHash
  for (const found of read) {
    if (found === undefined) return false
    // Each block names the one below it, so that no two of them are of different forks.
    if (found.parentHash !== hash) return rewind(deps, cursor, signal)
    ;({ hash } = found.block)
    const isLast = found === read.at(-1)
    const arrivals = await arrivalsOf(deps, found, signal)
    if (arrivals.length === 0 && !isLast) continue
    const { block } = found
    if (!(await takeIn(deps, { block, arrivals, from: cursor }))) return false
    cursor = { ...cursor, blockNumber: block.number, blockHash: hash }
  }
  return last < final
}

const MAX_BLOCKS = 16n

/**
 * At one time where the program was away, and else one after the other: a node that writes several
 * full blocks at once keeps all others who ask it waiting.
 */
async function readBlocks<T>(
  numbers: readonly bigint[],
  read: (number: bigint) => Promise<T>,
): Promise<T[]> {
  if (numbers.length === Number(MAX_BLOCKS)) return Promise.all(numbers.map(read))
  const blocks: T[] = []
  for (const number of numbers) blocks.push(await read(number))
  return blocks
}

/** How far to go back where a block that was final is gone, which should not happen. */
const REWIND_BLOCKS = 256n

type Arrival = Omit<OwnArrival, 'chainId'> & { deposit: NewDeposit | undefined }
type NewDeposit = Omit<Deposit, 'transactionId'> & { userId: number; unit: Unit }

/** All of the block or nothing. False where another reader has taken it in since. */
async function takeIn(
  deps: DepositDeps,
  { block, arrivals, from }: { block: TimedBlock; arrivals: Arrival[]; from: DepositCursor },
): Promise<boolean> {
  const { db, chainId, logger } = deps
  if (arrivals.length === 0) return moveDepositCursor(db, chainId, { from, to: block })
  return db.transaction().execute(async (db) => {
    if (!(await moveDepositCursor(db, chainId, { from, to: block }))) return false
    const others = arrivals.filter(({ deposit }) => deposit === undefined)
    await insertOwnArrivals(db, { chainId, arrivals: others })
    await record(
      { ...deps, db },
      arrivals.flatMap(({ deposit }) => deposit ?? []),
    )
    logger.info({ block: String(block.number), arrivals: arrivals.length }, 'money has arrived')
    return true
  })
}

/** What came to addresses of ours, and which of it is a deposit. */
async function arrivalsOf(
  deps: DepositDeps,
  { block, incoming, signed }: IncomingBlock,
  signal: AbortSignal,
): Promise<Arrival[]> {
  const { db, chainId } = deps
  const payees = [...new Set(incoming.map(({ payee }) => payee))]
  const owners = payees.length === 0 ? new Map<Hex, never>() : await listOwners(db, payees)
  const isOurs = (payee: Hex): boolean => owners.has(payee) || deps.own.includes(payee)
  const ours = incoming.filter(({ payer, payee }) => isOurs(payee) && payer !== payee)
  if (ours.length === 0) return []
  const receiptOf = readOnce((transactionHash: Hex) =>
    deps.incoming.receipt({ transactionHash, blockHash: block.hash }, signal),
  )
  const arrivals: Arrival[] = []
  for (const { settled, payer, ...moved } of ours) {
    const { transactionHash, payee, logIndex } = moved
    const userId = owners.get(payee)?.userId
    const arrival = { ...moved, blockNumber: block.number }
    // A payment that we signed is one movement, and its own transaction already shows it.
    const isSigned = signed.has(transactionHash)
    const unit = recordableIn(deps, moved)
    const isTheirs = userId !== undefined && unit !== undefined && !isSigned
    const isDeposit = isTheirs && !(await isOfCheckout(deps, { settled, payee }))
    // A log proves by itself that its transaction succeeded.
    const receipt = isDeposit || logIndex === -1 ? await receiptOf(transactionHash) : undefined
    if (receipt?.succeeded === false) continue
    if (!isDeposit || receipt === undefined) {
      arrivals.push({ ...arrival, deposit: undefined })
      continue
    }
    const { contract, reference } = settled ?? {}
    const { gasUsed, gasPrice } = receipt
    const place = { chainId, contract, reference, blockHash: block.hash, paidAt: block.time }
    const deposit = { ...arrival, ...place, payer, gasUsed, gasPrice, userId, unit }
    arrivals.push({ ...arrival, deposit })
  }
  return arrivals
}

/** One transaction may pay hundreds of addresses. Its receipt covers all and is read once. */
function readOnce<T>(read: (key: Hex) => Promise<T>): (key: Hex) => Promise<T> {
  const known = new Map<Hex, Promise<T>>()
  return (key) => {
    const value = known.get(key) ?? read(key)
    known.set(key, value)
    return value
  }
}

/** What pays a checkout is the checkout's, if it comes to where checkouts are paid. */
async function isOfCheckout(
  { db, chainId, checkoutPayee }: DepositDeps,
  { settled, payee }: Pick<Incoming, 'settled' | 'payee'>,
): Promise<boolean> {
  if (settled === undefined || payee !== checkoutPayee) return false
  return (await findReferenced(db, { ...settled, chainId })) !== undefined
}

/**
 * In what it counts; undefined where nobody has configured the token, or where it is more than any
 * amount can be.
 */
function recordableIn(
  { coin = 'ETH', tokens }: DepositDeps,
  { token: address, amount }: Pick<Incoming, 'token' | 'amount'>,
): Unit | undefined {
  const token = tokens.find((one) => one.address === address)
  const paid = address === undefined ? unitOfCoin(coin) : token && unitOf(token)
  const unit = paid && { ...paid, type: 'deposit' }
  return unit && isAmount({ amount, decimals: decimalsOf(unit) }) ? unit : undefined
}

async function record(deps: DepositDeps, arrived: readonly NewDeposit[]): Promise<void> {
  const { db, chainId, randomBytes } = deps
  if (arrived.length === 0) return
  const hashes = arrived.map(({ transactionHash }) => transactionHash)
  const gone = await listGoneHashes(db, { chainId, hashes })
  const fresh: (NewDeposit & { transactionId: string })[] = []
  for (const deposit of arrived) {
    if (gone.has(deposit.transactionHash) && (await giveBack(deps, deposit))) continue
    fresh.push({ ...deposit, transactionId: createId('TX', randomBytes) })
  }
  const inserted = await insertDeposits(db, fresh)
  const cause = { actor: 'chain', reason: 'arrived on the chain, in a final block' }
  const moved = fresh.filter(({ transactionId }) => inserted.has(transactionId))
  const steps = moved.map(({ transactionId }) => ({ ...cause, transactionId }))
  const records = moved.map(({ transactionId, userId, amount, ...of }): NewTransaction => {
    const { currency, tokenDecimals } = of.unit
    const description = `Deposit from ${checksummed(of.payer)}`
    const counted = { amount, currency, tokenDecimals: tokenDecimals ?? undefined }
    const money = { userId, type: 'deposit' as const, ...counted, description }
    const { payee: toAddress, transactionHash: ethTransactionHash } = of
    return { ...cause, transactionId, ...money, chainId, toAddress, ethTransactionHash }
  })
  if (records.length === 0) return
  await recordTransactions(db, records)
  await moveTransactions(db, steps, { from: 'pending', to: 'processing' })
  await moveTransactions(db, steps, { from: 'processing', to: 'completed' })
}

/** False where it is another one of the same transaction, which was never there. */
async function giveBack({ db, clock }: DepositDeps, deposit: NewDeposit): Promise<boolean> {
  const back = await returnDeposit(db, deposit)
  if (back === undefined) return false
  await closeReorged(db, { ...back, source: SOURCE, now: clock.now() })
  return true
}

/** A deposit whose block is gone stays what it was, and a break opens. */
async function rewind(
  deps: DepositDeps,
  cursor: DepositCursor,
  signal: AbortSignal,
): Promise<boolean> {
  const { db, chainId, readBlock, clock, logger } = deps
  const { blockNumber, firstBlock } = cursor
  logger.error({ block: String(blockNumber) }, 'a final block was replaced by another')
  // What came before the first block that was read stays none of our records.
  const back = blockNumber > firstBlock + REWIND_BLOCKS ? blockNumber - REWIND_BLOCKS : firstBlock
  const to = await readBlock(back, signal)
  if (to === undefined) return false
  const gone: { block: DepositBlock; onChain: Hex | undefined }[] = []
  for (const block of await listDepositBlocks(db, { chainId, above: back })) {
    const { hash: onChain } = (await readBlock(block.blockNumber, signal)) ?? {}
    if (onChain !== block.blockHash) gone.push({ block, onChain })
  }
  return db.transaction().execute(async (db) => {
    if (!(await moveDepositCursor(db, chainId, { from: cursor, to }))) return false
    const now = clock.now()
    for (const { block, onChain } of gone) {
      const payments = await forgetDeposits(db, { chainId, block, now })
      await openReorged(db, { payments, onChain, source: SOURCE, chainId, now })
      const hashes = payments.map(({ transactionHash }) => transactionHash)
      logger.error({ hashes }, 'the final block of deposits is gone')
    }
    await forgetOwnArrivals(db, { chainId, above: back })
    await forgetBalances(db, { chainId, above: back })
    return true
  })
}

const SOURCE = 'deposits'
