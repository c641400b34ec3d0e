import { checksummed } from '../../../../chain/hex.ts'
import { sentenceOfSelector } from '../../../../chain/reverts.ts'
import { isOffChain } from '../../../../domain/breaks.ts'
import { STABLECOIN_DECIMALS } from '../../../../domain/money.ts'
import { isInEther, pendingReason, type Attempt, type Order } from '../../../../domain/orders.ts'
import type { Db } from '../../../../store/database/database.ts'
import { readCoin } from '../../../../store/database/chains.ts'
import { listAttemptsOf } from '../../../../store/orders/attempts.ts'
import { readCursor } from '../../../../store/orders/chain-cursor.ts'
import { findOrderOf } from '../../../../store/orders/orders.ts'
import { findArrival } from '../../../../store/rails/checkout-closings.ts'
import type { Objection } from '../../../../store/transactions/objections.ts'
import { amountFields } from '../../../../wire/amounts.ts'
import type { Transaction } from '../../../../store/transactions/transactions.ts'
import type { BlockchainTransactionWire } from '../../../../wire/group-b/transactions.ts'
import { fieldsOf } from '../fields.ts'

/**
 * What the detail of a transaction shows of the chain: what we signed for it, or what has arrived;
 * null where there is neither.
 */
export async function readBlockchainTransaction(
  db: Db,
  transaction: Shown,
  objections: readonly Objection[],
): Promise<BlockchainTransactionWire | null> {
  const { transactionId } = transaction
  const order = await findOrderOf(db, transactionId)
  if (order === undefined) return readArrival(db, transaction)
  const attempts = await listAttemptsOf(db, order)
  const shown = attempts.find(({ block }) => block !== undefined) ?? attempts.at(-1)
  if (shown === undefined) return null
  const head = (await readCursor(db, order.chainId))?.head.number
  const isGone = objections.some(({ reason }) => isOffChain(reason))
  return {
    eth_tx_hash: shown.hash,
    from_address: checksummed(order.signer),
    to_address: checksummed(order.payee),
    ...amountOf(transaction, { amount: order.amount, isEther: isInEther(order.route) }),
    coin: await readCoin(db, order.chainId),
    gas_used: shown.block?.gasUsed ?? null,
    gas_price: shown.block?.gasPrice ?? null,
    rollup_fee: shown.block?.rollupFee ?? null,
    block_number: shown.block?.number ?? null,
    status: STATUSES[order.state],
    created_at: order.acceptedAt.toISOString(),
    confirmations: isGone ? 0n : confirmationsOf(shown.block?.number, head),
    pending_reason: pendingReason(order, shown) ?? null,
    error_code: order.errorCode ?? null,
    error_reason: order.refusal ? sentenceOfSelector(order.refusal) : null,
    reference: isSettlement(order) ? order.reference : null,
    attempts: attempts.map(toAttemptWire),
  }
}

type Shown = Pick<Transaction, 'transactionId' | 'currency' | 'tokenDecimals'>

/** It is a payer's transaction, of which we have made no attempt. */
async function readArrival(db: Db, transaction: Shown): Promise<BlockchainTransactionWire | null> {
  const arrival = await findArrival(db, transaction.transactionId)
  if (arrival?.payee === undefined) return null
  const { isThere, gas, blockNumber, chainId } = arrival
  const head = (await readCursor(db, chainId))?.head.number
  return {
    eth_tx_hash: arrival.transactionHash,
    from_address: checksummed(arrival.payer),
    to_address: checksummed(arrival.payee),
    ...amountOf(transaction, { amount: arrival.amount, isEther: arrival.token === undefined }),
    coin: await readCoin(db, chainId),
    gas_used: gas?.gasUsed ?? null,
    gas_price: gas?.gasPrice ?? null,
    rollup_fee: null,
    block_number: isThere ? blockNumber : null,
    status: isThere ? 'confirmed' : 'pending',
    created_at: arrival.paidAt.toISOString(),
    confirmations: confirmationsOf(isThere ? blockNumber : undefined, head),
    pending_reason: isThere ? null : 'waiting_for_block',
    error_code: null,
    error_reason: null,
    reference: arrival.reference ?? null,
    attempts: [],
  }
}

/** The native coin, the dollars of the stablecoin, or another token. */
function amountOf(
  { currency, tokenDecimals }: Shown,
  { amount, isEther }: { amount: bigint; isEther: boolean },
) {
  // Another coin than ether has its decimals with it, as tokens have.
  if (isEther && typeof tokenDecimals !== 'number') return amountFields({ amount, currency: 'ETH' })
  return amountFields({ amount, currency, tokenDecimals: tokenDecimals ?? STABLECOIN_DECIMALS })
}

function isSettlement({ route }: Order): boolean {
  return route === 'contract' || route === 'token' || route === 'permit'
}

const STATUSES = {
  accepted: 'pending',
  mined: 'pending',
  completed: 'confirmed',
  failed: 'failed',
} as const satisfies Record<Order['state'], BlockchainTransactionWire['status']>

/** The block of the transaction is the first one; a head that was read before it counts none. */
function confirmationsOf(block: bigint | undefined, head: bigint | undefined): bigint {
  if (block === undefined || head === undefined || head < block) return 0n
  return head - block + 1n
}

export function toAttemptWire(attempt: Attempt): BlockchainTransactionWire['attempts'][number] {
  return {
    eth_tx_hash: attempt.hash,
    ...fieldsOf(attempt, 'nonce', 'kind', 'state'),
    ...fieldsOf(attempt.fees, 'maxFeePerGas', 'maxPriorityFeePerGas'),
    block_number: attempt.block?.number ?? null,
    created_at: attempt.signedAt.toISOString(),
  }
}
