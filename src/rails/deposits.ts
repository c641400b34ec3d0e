import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { checksummed } from '../chain/hex.ts'
import type { BlockReader, TimedBlock } from '../chain/read/blocks.ts'
import type { ReadFinal } from '../chain/read/final.ts'
import type { Incoming, IncomingReader } from '../chain/read/incoming.ts'
import { createId, type RandomBytes } from '../domain/ids.ts'
import { decimalsOf, isAmount, type Unit } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import { unitOf, type Token } from '../domain/tokens.ts'
import type { Db } from '../store/database/database.ts'
import { findReferenced } from '../store/rails/checkouts.ts'
import { forgetBalancesAbove } from '../store/rails/balances.ts'
import {
  forgetDeposit,
  forgetOwnArrivals,
  insertDeposit,
  insertOwnArrival,
  listDepositsAbove,
  listOwners,
  listSignedHashes,
  moveDepositCursor,
  readDepositCursor,
  returnDeposit,
  type Deposit,
  type DepositCursor,
} from '../store/rails/deposits.ts'
import { moveTransaction, recordTransaction } from '../store/transactions/transactions.ts'
import { closeReorged, openReorged } from './checkout-reorgs.ts'

export type DepositDeps = {
  db: Db
  chainId: number
  /** Those that are configured. */
  tokens: readonly Token[]
  /** The platform's own addresses, where nothing is a deposit, and all is accounted for. */
  own: readonly Hex[]
  readFinal: ReadFinal
  readBlock: BlockReader
  incoming: IncomingReader
  randomBytes: RandomBytes
  clock: Clock
  logger: Logger
}

/**
 * Reads the final blocks that were not read yet, and records what came to users' addresses in them.
 * True while there are more. Any number of processes may do it: each deposit is recorded once.
 */
export async function depositPass(deps: DepositDeps, signal: AbortSignal): Promise<boolean> {
  const { db, chainId, readFinal, readBlock, incoming } = deps
  const final = await readFinal(signal)
  if (final === undefined) return false
  let cursor = await readDepositCursor(db, chainId)
  if (cursor === undefined) {
    // What came before the platform knew its users' addresses is none of its records.
    const block = await readBlock(final, signal)
    if (block !== undefined) await moveCursor(deps, { from: undefined, to: block })
    return false
  }
  if (final <= cursor.blockNumber) return false
  const known = await readBlock(cursor.blockNumber, signal)
  if (known === undefined) return false
  if (known.hash !== cursor.blockHash) return rewind(deps, cursor, signal)
  const last = final < cursor.blockNumber + MAX_BLOCKS ? final : cursor.blockNumber + MAX_BLOCKS
  const numbers = Array.from(
    { length: Number(last - cursor.blockNumber) },
    (_, place) => cursor!.blockNumber + 1n + BigInt(place),
  )
  const read = await Promise.all(numbers.map((number) => incoming.block(number, signal)))
  for (const one of read) {
    if (one === undefined) return false
    await takeIn(deps, one, signal)
    if (!(await moveCursor(deps, { from: cursor, to: one.block }))) return false
    cursor = cursorAt(one.block)
  }
  return last < final
}

/** So many are read at one time, where the program was away. */
const MAX_BLOCKS = 16n

/** How far to go back where a block that was final is gone, which should not happen. */
const REWIND_BLOCKS = 256n

function cursorAt({ number, hash }: TimedBlock): DepositCursor {
  return { blockNumber: number, blockHash: hash }
}

function moveCursor(
  { db, chainId }: DepositDeps,
  { from, to }: { from: DepositCursor | undefined; to: TimedBlock },
): Promise<boolean> {
  return moveDepositCursor(db, chainId, { from, to: cursorAt(to) })
}

async function takeIn(
  deps: DepositDeps,
  { block, incoming }: { block: TimedBlock; incoming: readonly Incoming[] },
  signal: AbortSignal,
): Promise<void> {
  const { db, chainId } = deps
  const owners = await listOwners(db, [...new Set(incoming.map(({ payee }) => payee))])
  const isOurs = (payee: Hex): boolean => owners.has(payee) || deps.own.includes(payee)
  const ours = incoming.filter(({ payer, payee }) => isOurs(payee) && payer !== payee)
  if (ours.length === 0) return
  // A payment of ours is one movement, and its own transaction tells of it.
  const hashes = ours.map(({ transactionHash }) => transactionHash)
  const signed = await listSignedHashes(db, { chainId, hashes })
  for (const one of ours) {
    const { transactionHash, payer, payee, token, amount, logIndex, settled } = one
    const owner = owners.get(payee)
    // What pays a checkout is the checkout's.
    const isCheckout = settled && (await findReferenced(db, settled.reference)) !== undefined
    const unit = coinOf(deps, token)
    const isRecorded = unit !== undefined && isAmount({ amount, decimals: decimalsOf(unit) })
    const isTheirs = owner !== undefined && !signed.has(transactionHash) && !isCheckout
    const isDeposit = isTheirs && isRecorded
    // A log proves by itself that its transaction succeeded.
    const receipt =
      isDeposit || logIndex === -1
        ? await deps.incoming.receipt({ transactionHash, blockHash: block.hash }, signal)
        : undefined
    if (receipt?.succeeded === false) continue
    if (!isDeposit || receipt === undefined) {
      const { number: blockNumber } = block
      const arrival = { chainId, transactionHash, logIndex, payee, token, amount, blockNumber }
      await insertOwnArrival(db, arrival)
      continue
    }
    const { succeeded: _, ...gas } = receipt
    const deposit = {
      chainId,
      transactionHash,
      logIndex,
      payer,
      payee,
      token,
      amount,
      contract: settled?.contract,
      reference: settled?.reference,
      blockNumber: block.number,
      blockHash: block.hash,
      paidAt: block.time,
      ...gas,
    }
    await record(deps, { deposit, unit, ...owner })
  }
}

/** In what it counts; undefined where nobody has configured the token. */
function coinOf({ tokens }: DepositDeps, address: Hex | undefined): Unit | undefined {
  if (address === undefined) return { currency: 'ETH', type: 'deposit' }
  const token = tokens.find((one) => one.address === address)
  return token && { ...unitOf(token), type: 'deposit' }
}

async function record(
  { db, randomBytes, clock, logger }: DepositDeps,
  arrived: { deposit: Omit<Deposit, 'transactionId'>; unit: Unit; userId: number },
): Promise<void> {
  const { deposit, userId } = arrived
  const { payer, payee: toAddress, amount, transactionHash: hash } = deposit
  const { currency, tokenDecimals } = arrived.unit
  await db.transaction().execute(async (db) => {
    const back = await returnDeposit(db, deposit)
    if (back !== undefined) {
      await closeReorged(db, { ...back, source: SOURCE, now: clock.now() })
      return
    }
    const transactionId = createId('TX', randomBytes)
    if (!(await insertDeposit(db, { ...deposit, transactionId }))) return
    const cause = { actor: 'chain', reason: 'arrived on the chain, in a final block' }
    const description = `Deposit from ${checksummed(payer)}`
    const common = { ...cause, transactionId }
    const money = { amount, currency, tokenDecimals: tokenDecimals ?? undefined }
    const told = { userId, type: 'deposit' as const, description, ethTransactionHash: hash }
    await recordTransaction(db, { ...common, ...money, ...told, toAddress })
    await moveTransaction(db, { ...common, from: 'pending', to: 'processing' })
    await moveTransaction(db, { ...common, from: 'processing', to: 'completed' })
    logger.info({ transactionId, hash, currency }, 'a deposit has arrived')
  })
}

/** A deposit whose block is gone stays what it was, and a break opens. */
async function rewind(
  deps: DepositDeps,
  cursor: DepositCursor,
  signal: AbortSignal,
): Promise<boolean> {
  const { db, chainId, readBlock, clock, logger } = deps
  logger.error({ block: String(cursor.blockNumber) }, 'a final block was replaced by another')
  const back = cursor.blockNumber > REWIND_BLOCKS ? cursor.blockNumber - REWIND_BLOCKS : 0n
  const block = await readBlock(back, signal)
  if (block === undefined) return false
  const above = { chainId, blockNumber: back, limit: MAX_REPLACED }
  for (const deposit of await listDepositsAbove(db, above)) {
    const now = clock.now()
    const { hash } = (await readBlock(deposit.blockNumber, signal)) ?? {}
    if (hash === deposit.blockHash) continue
    const { transactionId, transactionHash } = deposit
    logger.error({ transactionId, hash: transactionHash }, 'the final block of a deposit is gone')
    await db.transaction().execute(async (db) => {
      await forgetDeposit(db, { transactionId, now })
      await openReorged(db, { payments: [deposit], onChain: hash, source: SOURCE, chainId, now })
    })
  }
  return db.transaction().execute(async (db) => {
    await forgetOwnArrivals(db, above)
    await forgetBalancesAbove(db, above)
    return moveCursor({ ...deps, db }, { from: cursor, to: block })
  })
}

const SOURCE = 'deposits'
const MAX_REPLACED = 1_000
