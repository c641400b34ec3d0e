import type { Static } from 'typebox'

import { checksummed } from '../../../../chain/hex.ts'
import type { Attempt, Hex, Order } from '../../../../domain/orders.ts'
import {
  countEveryonesTransactions,
  findEveryonesTransactions,
  findEveryonesTransaction,
  listEveryonesTransactions,
  withUsernames,
  type OwnedTransaction,
} from '../../../../store/access/everyone.ts'
import type { Db } from '../../../../store/database/database.ts'
import { listAttemptsOf } from '../../../../store/orders/attempts.ts'
import { findOrderOf } from '../../../../store/orders/orders.ts'
import { listCheckoutPayments } from '../../../../store/rails/checkouts.ts'
import {
  countByAmount,
  listByAmount,
  type AmountOrder,
} from '../../../../store/transactions/by-amount.ts'
import { isSearch, type ListPlace, type Wanted } from '../../../../store/transactions/found.ts'
import { readObjections } from '../../../../store/transactions/objections.ts'
import { findReceiptOf } from '../../../../store/transactions/receipts.ts'
import { listMoves } from '../../../../store/transactions/transactions.ts'
import { decimalOf } from '../../../../wire/amounts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  LifeParamsSchema,
  OwnedListQuerySchema,
  OwnedListSchema,
  TransactionLifeSchema,
  type TransactionLifeWire,
} from '../../../../wire/group-b/admin.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import type { Chains } from '../../../chains.ts'
import { amountCursorOf, pageOf, placeOfAmountCursor, placeOfCursor } from '../../lists.ts'
import { readBlockchainTransaction, toAttemptWire } from '../blockchain/wire.ts'
import { fieldsOf } from '../fields.ts'
import { readChargeBack, toArrivalWire } from '../payments/charges.ts'
import { cut, readSearch } from '../transactions/search.ts'
import { toMoveWire, toTransactionWire, toTransactionWires } from '../transactions/wire.ts'
import { ADMINISTRATION } from './administration.ts'

export function everyonesListEndpoint({ chains }: { chains: Chains }): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/transactions',
    operationId: 'listEveryonesTransactions',
    summary: 'List the transactions of all users, newest first',
    query: OwnedListQuerySchema,
    answer: OwnedListSchema,
    handle: async ({ query, db }) => {
      const found = readSearch(chains, query)
      const { sort } = query
      const page = await (sort === 'largest' || sort === 'smallest'
        ? listByAmounts(db, query, sort)
        : listByTime(db, query, { found, sort }))
      const wires = await toTransactionWires(db, page.shown)
      return {
        success: true as const,
        transactions: page.shown.map((one, place) => ({ ...wires[place]!, ...ownerOf(one) })),
        // To count takes longer than to list, and the pages behind the first one know it.
        ...(query.cursor === undefined && { total: page.total, total_is_exact: page.isExact }),
        next_cursor: page.next,
      }
    },
  })
}

type ShownPage = {
  shown: readonly OwnedTransaction[]
  next: string | null
  total: number
  isExact: boolean
}

type OwnedQuery = Static<typeof OwnedListQuerySchema>

type TimeOrder = 'newest' | 'oldest' | undefined

/** By time: what a search finds, or the list in either direction. */
async function listByTime(
  db: Db,
  query: OwnedQuery,
  { found, sort }: { found: ReturnType<typeof readSearch>; sort: TimeOrder },
): Promise<ShownPage> {
  const { user_id: userId, eth_transaction_hash: hash } = query
  const wanted = { userId, ...found, ethTransactionHash: hash as Hex | undefined }
  const after = query.cursor === undefined ? undefined : placeOfCursor(query.cursor)
  const limit = effectiveLimit(query.limit)
  if (sort === 'oldest' && isSearch(wanted)) throw notSortable('oldest', BY_TIME)
  const page = isSearch(wanted)
    ? await search(db, wanted, { after, limit: limit + 1 })
    : await list(db, wanted, { after, limit: limit + 1, sort })
  return { ...cut(page, limit), total: page.total, isExact: page.isExact }
}

/** What finds by an index of its own reads it in one direction. */
const BY_TIME = '`user_id`, `type`, `status`, `start_date` and `end_date`'

function notSortable(sort: string, filters: string): RequestError {
  const message = `The ${sort} come first only with the filters ${filters}. Leave out the others.`
  return invalidRequest([{ field: 'query.sort', code: 'not_sortable', message }])
}

/** By the amounts in one currency. */
async function listByAmounts(db: Db, query: OwnedQuery, sort: AmountOrder): Promise<ShownPage> {
  const { user_id: userId, currency, min_amount, max_amount, cursor, limit, ...others } = query
  const { sort: _, ...filters } = others
  if (Object.keys(filters).length > 0) throw notSortable(sort, BY_AMOUNT)
  if (currency === undefined) throw needsCurrency(sort)
  const filter = { userId, currency, minAmount: min_amount, maxAmount: max_amount }
  const after = cursor === undefined ? undefined : placeOfAmountCursor(cursor)
  const most = effectiveLimit(limit)
  const page = await pageOf(most, async (wanted) => {
    return withUsernames(db, await listByAmount(db, filter, { sort, after, limit: wanted }))
  })
  const next = page.last && amountCursorOf({ amount: decimalOf(page.last), id: page.last.id })
  const total = after === undefined ? await countByAmount(db, filter, MAX_COUNTED) : 0
  return { shown: page.shown, next: next ?? null, total, isExact: total < MAX_COUNTED }
}

const BY_AMOUNT = '`user_id`, `currency`, `min_amount` and `max_amount`'

function needsCurrency(sort: AmountOrder): RequestError {
  const message = `Amounts are sorted within one currency. Send \`currency\` with sort=${sort}.`
  return invalidRequest([{ field: 'query.currency', code: 'required', message }])
}

type OwnedPage = Awaited<ReturnType<typeof findEveryonesTransactions>>

type OwnedRequest = { after: ListPlace | undefined; limit: number }

function search(db: Db, wanted: Wanted, { after, limit }: OwnedRequest): Promise<OwnedPage> {
  return findEveryonesTransactions(db, wanted, { limit, ...(after ? { after } : { offset: 0 }) })
}

async function list(
  db: Db,
  wanted: Wanted,
  page: OwnedRequest & { sort: TimeOrder },
): Promise<OwnedPage> {
  const transactions = await listEveryonesTransactions(db, wanted, page)
  const isFirst = page.after === undefined
  const total = isFirst ? await countEveryonesTransactions(db, wanted, MAX_COUNTED) : 0
  return { transactions, total, isExact: total < MAX_COUNTED, stoppedAt: undefined }
}

const MAX_COUNTED = 100_000

export const lifeEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/transactions/{transaction_id}',
  operationId: 'readTransactionLife',
  summary: 'Read everything about a transaction of any user',
  params: LifeParamsSchema,
  answer: TransactionLifeSchema,
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
      ...fieldsOf(transaction, 'institutionId', 'gatewayId', 'metadata'),
      ...(await readChargeBack(db, transaction)),
      arrivals: arrivals.map(toArrivalWire),
      blockchain_transaction: await readBlockchainTransaction(db, transaction, objections),
      order: await readOrder(db, transaction.transactionId),
      history: moves.map((move) => ({ ...toMoveWire(move), actor: move.actor })),
      receipt_path: receipt ? `/r/${receipt.token}` : null,
    }
  },
})

const MAX_ARRIVALS = 300

function ownerOf(transaction: OwnedTransaction) {
  return fieldsOf(transaction, 'userId', 'username')
}

async function readOrder(db: Db, transactionId: string): Promise<TransactionLifeWire['order']> {
  const order = await findOrderOf(db, transactionId)
  if (!order) return null
  return toOrderWire(order, await listAttemptsOf(db, order))
}

function toOrderWire(order: Order, attempts: Attempt[]): TransactionLifeWire['order'] {
  return {
    ...fieldsOf(order, 'reference', 'route', 'state', 'errorCode', 'cancelCode'),
    ...fieldsOf(order, 'acceptedAt', 'updatedAt'),
    contract: order.contract ? checksummed(order.contract) : null,
    attempts: attempts.map((attempt) => ({
      ...toAttemptWire(attempt),
      ...fieldsOf(attempt, 'gas', 'sentAt', 'lastSentAt', 'lastAnswer'),
      gas_used: attempt.block?.gasUsed ?? null,
      block_hash: attempt.block?.hash ?? null,
      succeeded: attempt.block?.succeeded ?? null,
    })),
  }
}
