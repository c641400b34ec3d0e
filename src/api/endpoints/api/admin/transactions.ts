import { checksummed } from '../../../../chain/hex.ts'
import { listAttemptsOf } from '../../../../store/orders/attempts.ts'
import type { Attempt, Order } from '../../../../domain/orders.ts'
import { listCheckoutPayments } from '../../../../store/rails/checkouts.ts'
import type { Db } from '../../../../store/database/database.ts'
import {
  countEveryonesTransactions,
  findEveryonesTransaction,
  listEveryonesTransactions,
  type OwnedTransaction,
} from '../../../../store/access/everyone.ts'
import { readObjections } from '../../../../store/transactions/objections.ts'
import { findOrderOf } from '../../../../store/orders/orders.ts'
import { findReceiptOf } from '../../../../store/transactions/receipts.ts'
import { listMoves } from '../../../../store/transactions/transactions.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  LifeParamsSchema,
  OwnedListQuerySchema,
  OwnedListSchema,
  TransactionLifeSchema,
  type TransactionLifeWire,
} from '../../../../wire/group-b/admin.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { readBlockchainTransaction } from '../blockchain/wire.ts'
import { readChargeBack, toArrivalWire } from '../payments/charge-wire.ts'
import { dayRange } from '../day-range.ts'
import { cursorOf, placeOfCursor } from '../transactions/list-cursor.ts'
import { toTransactionWire, toTransactionWires } from '../transactions/wire.ts'

export const everyonesListEndpoint = defineEndpoint({
  group: 'b',
  method: 'GET',
  path: '/api/admin/transactions',
  operationId: 'listEveryonesTransactions',
  summary: 'Lists the transactions of all users, newest first',
  tag: 'Administration',
  access: 'admin',
  query: OwnedListQuerySchema,
  status: 200,
  answer: OwnedListSchema,
  handle: async ({ query, db }) => {
    const limit = effectiveLimit(query.limit)
    const after = query.cursor === undefined ? undefined : placeOfCursor(query.cursor)
    const { user_id: userId, eth_transaction_hash: ethTransactionHash, type, status } = query
    const filter = { userId, type, status, ethTransactionHash, ...dayRange(query) }
    // One more tells whether there is a next page.
    const found = await listEveryonesTransactions(db, filter, { after, limit: limit + 1 })
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const wires = await toTransactionWires(db, shown)
    return {
      success: true as const,
      transactions: shown.map((one, place) => ({ ...wires[place]!, ...ownerOf(one) })),
      // To count takes longer than to list, and the pages behind the first one know it.
      ...(after === undefined && {
        total: await countEveryonesTransactions(db, filter, MAX_COUNTED),
      }),
      next_cursor: last && found.length > limit ? cursorOf(last) : null,
    }
  },
})

const MAX_COUNTED = 100_000

export const lifeEndpoint = defineEndpoint({
  group: 'b',
  method: 'GET',
  path: '/api/admin/transactions/{transaction_id}',
  operationId: 'readTransactionLife',
  summary: 'Reads all that is known of a transaction of any user',
  tag: 'Administration',
  access: 'admin',
  params: LifeParamsSchema,
  status: 200,
  answer: TransactionLifeSchema,
  failures: ['not_found'],
  handle: async ({ params, db }) => {
    const transaction = await findEveryonesTransaction(db, params.transaction_id)
    if (!transaction) {
      throw new RequestError('not_found', 'There is no transaction with this id.')
    }
    const moves = await listMoves(db, transaction)
    const objections = await readObjections(db, transaction.transactionId)
    const receipt = await findReceiptOf(db, transaction.transactionId)
    const arrivals = await listCheckoutPayments(db, [transaction.transactionId], MAX_ARRIVALS)
    return {
      success: true as const,
      ...toTransactionWire(transaction, objections),
      ...ownerOf(transaction),
      institution_id: transaction.institutionId,
      gateway_id: transaction.gatewayId,
      metadata: transaction.metadata,
      ...(await readChargeBack(db, transaction)),
      arrivals: arrivals.map(toArrivalWire),
      blockchain_transaction: await readBlockchainTransaction(db, transaction.transactionId),
      order: await readOrder(db, transaction.transactionId),
      history: moves.map(({ to, from, actor, reason, at }) => ({
        status: to,
        previous_status: from,
        actor,
        reason,
        created_at: at.toISOString(),
      })),
      receipt_path: receipt ? `/r/${receipt.token}` : null,
    }
  },
})

const MAX_ARRIVALS = 300

function ownerOf({ userId, username }: OwnedTransaction) {
  return { user_id: userId, username }
}

async function readOrder(db: Db, transactionId: string): Promise<TransactionLifeWire['order']> {
  const order = await findOrderOf(db, transactionId)
  if (!order) return null
  return toOrderWire(order, await listAttemptsOf(db, order.id))
}

function toOrderWire(order: Order, attempts: Attempt[]): TransactionLifeWire['order'] {
  return {
    reference: order.reference,
    route: order.route,
    contract: order.contract ? checksummed(order.contract) : null,
    state: order.state,
    error_code: order.errorCode ?? null,
    cancel_code: order.cancelCode ?? null,
    accepted_at: order.acceptedAt.toISOString(),
    updated_at: order.updatedAt.toISOString(),
    attempts: attempts.map((attempt) => ({
      eth_tx_hash: attempt.hash,
      nonce: attempt.nonce,
      kind: attempt.kind,
      state: attempt.state,
      gas: attempt.gas,
      max_fee_per_gas: attempt.fees.maxFeePerGas,
      max_priority_fee_per_gas: attempt.fees.maxPriorityFeePerGas,
      gas_used: attempt.block?.gasUsed ?? null,
      block_number: attempt.block?.number ?? null,
      block_hash: attempt.block?.hash ?? null,
      succeeded: attempt.block?.succeeded ?? null,
      created_at: attempt.signedAt.toISOString(),
      sent_at: attempt.sentAt?.toISOString() ?? null,
      last_sent_at: attempt.lastSentAt?.toISOString() ?? null,
      last_answer: attempt.lastAnswer ?? null,
    })),
  }
}
