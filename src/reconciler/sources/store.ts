import { ahead } from '../../base/ahead.ts'
import { COIN_DECIMALS } from '../../domain/coins.ts'
import { decimalsOf, formatAmount, parseAmount, STABLECOIN_DECIMALS } from '../../domain/money.ts'
import { isInEther, referenceOf, type OrderState } from '../../domain/orders.ts'
import type { TransactionStatus } from '../../domain/states.ts'
import type { Db } from '../../store/database/database.ts'
import {
  findRecordedHash,
  findRecordedOrder,
  listRecordedHashes,
  listRecordedOrders,
  listSharedHashes,
  listSharedOrders,
  listSweptOrders,
  lastRecordId,
  type RecordedArrival,
  type RecordedHash,
  type RecordedOrder,
  type RecordsWanted,
  type SweptOrder,
} from '../../store/reconciliation/recorded-payments.ts'
import { signedHashOf } from '../chain/signed.ts'
import type { Chunk, PaymentRecord, RecordedAmount, RecordSource } from './records.ts'

const CHUNK = 5_000

/** Our own records: first the orders by their ids, then the transactions without an order. */
export function createStoreSource(
  db: Db,
  wanted: RecordsWanted & {
    expected: bigint
    /** Whether what the sweep has read proves settlements. */
    isSwept: boolean
    chunkRecords?: number
  },
): RecordSource {
  const { expected, chunkRecords: limit = CHUNK } = wanted
  let read = 0
  return {
    name: 'store',
    version: undefined,
    size: { total: Number(expected), unit: 'records' },
    positionOf: () => read,
    async *chunks(wants) {
      for await (const chunk of ahead(readChunks(db, { ...wanted, ...wants, limit }))) {
        read += chunk.records.length + chunk.proven.length
        yield chunk
      }
    },
  }
}

async function* readChunks(
  db: Db,
  wanted: RecordsWanted & {
    after: string | undefined
    isSwept: boolean
    limit: number
    signal: AbortSignal
  },
): AsyncGenerator<Chunk & Required<Pick<Chunk, 'proven'>>> {
  const { after, limit, signal } = wanted
  const start = placeOf(after)
  for (const table of TABLES.slice(TABLES.indexOf(start.table))) {
    let id = table === start.table ? start.id : 0n
    for (;;) {
      signal.throwIfAborted()
      const page = await READERS[table](db, { ...wanted, after: id, limit })
      const { last, isLast, ...rows } = page
      if (last === undefined) break
      id = last
      yield { ...rows, unreadable: [], repeated: 0, cursor: `${table}:${id}` }
      if (isLast) break
    }
  }
}

/** Before the cursor, the records whose transaction others claim as well. */
export async function* readShared(
  db: Db,
  wanted: RecordsWanted & { before: string; signal: AbortSignal },
): AsyncGenerator<readonly PaymentRecord[]> {
  const end = placeOf(wanted.before)
  for (const table of TABLES.slice(0, TABLES.indexOf(end.table) + 1)) {
    const last = table === end.table ? end.id : await lastRecordId(db, table)
    for (let after = 0n; after < last; after += STRETCH) {
      wanted.signal.throwIfAborted()
      const to = after + STRETCH < last ? after + STRETCH : last
      yield await SHARED[table](db, { ...wanted, after, to })
    }
  }
}

/** So many ids at a time, few of which have a record that is wanted. */
const STRETCH = 50_000n

const SHARED: Record<
  Table,
  (db: Db, wanted: RecordsWanted & { after: bigint; to: bigint }) => Promise<PaymentRecord[]>
> = {
  orders: async (db, wanted) => (await listSharedOrders(db, wanted)).map(recordOfOrder),
  transactions: async (db, wanted) => (await listSharedHashes(db, wanted)).map(recordOfHash),
}

/** The current record of a public id. */
export async function findStoreRecord(
  db: Db,
  of: { chainId: number; transactionId: string },
): Promise<PaymentRecord | undefined> {
  const order = await findRecordedOrder(db, of)
  if (order !== undefined) return recordOfOrder(order)
  const hash = await findRecordedHash(db, of)
  return hash && recordOfHash(hash)
}

const TABLES = ['orders', 'transactions'] as const

type Table = (typeof TABLES)[number]
type Page = {
  records: PaymentRecord[]
  proven: string[]
  /** What is after it is the next page; undefined where there is no row. */
  last: bigint | undefined
  isLast: boolean
}
type Paging = RecordsWanted & { after: bigint; isSwept: boolean; limit: number }

const READERS: Record<Table, (db: Db, paging: Paging) => Promise<Page>> = {
  async orders(db, paging) {
    const orders = await listSweptOrders(db, paging)
    const { proven = [], open = [] } = Object.groupBy(orders, (order) =>
      paging.isSwept && isProven(order) ? 'proven' : 'open',
    )
    const others = await listRecordedOrders(
      db,
      open.map(({ id }) => id),
    )
    return {
      records: others.map(recordOfOrder),
      proven: proven.map(({ subject }) => subject),
      last: orders.at(-1)?.id,
      isLast: orders.length < paging.limit,
    }
  },
  async transactions(db, paging) {
    const hashes = await listRecordedHashes(db, paging)
    const last = hashes.at(-1)?.id
    const isLast = hashes.length < paging.limit
    return { records: hashes.map(recordOfHash), proven: [], last, isLast }
  },
}

/**
 * The settlement that the sweep read is the recorded one in every field, and its hash is that of
 * what was signed. No other record that names a payer and a reference can claim it.
 */
function isProven({ settled }: SweptOrder): boolean {
  return settled !== undefined && signedHashOf(settled) === settled.hash
}

function placeOf(cursor: string | undefined): { table: Table; id: bigint } {
  const [name, id = '0'] = cursor?.split(':') ?? []
  const table = TABLES.find((one) => one === name) ?? 'orders'
  return { table, id: BigInt(id) }
}

function recordOfOrder(order: RecordedOrder): PaymentRecord {
  return {
    transactionId: order.subject,
    hash: order.hash,
    status: order.status ?? STATUSES[order.state],
    payee: order.payee,
    amount: amountOfOrder(order),
    reference: referenceOf(order),
    createdAt: order.createdAt,
    signer: order.signer,
    payer: order.signer,
    nonce: order.nonce,
    blockHash: order.blockHash,
    fee: order.fee,
    raw: order.raw,
    line: undefined,
    isShared: order.isShared,
  }
}

const STATUSES: Record<OrderState, TransactionStatus> = {
  accepted: 'processing',
  mined: 'processing',
  completed: 'completed',
  failed: 'failed',
}

function amountOfOrder(order: RecordedOrder): RecordedAmount {
  const { amount, route, token, currency = 'USD' } = order
  const units = BigInt(amount)
  if (!isInEther(route)) {
    const { tokenDecimals: decimals = STABLECOIN_DECIMALS } = order
    const text = formatAmount({ amount: units, decimals })
    return { text, currency, money: token && { units, token } }
  }
  const text = formatAmount({ amount: units, decimals: COIN_DECIMALS })
  return { text, currency: coinIn(order), money: { units, token: null } }
}

/** Another coin than ether has its decimals with it, as tokens have. */
function coinIn(of: { currency?: string | undefined; tokenDecimals?: number | null | undefined }) {
  return typeof of.tokenDecimals === 'number' ? (of.currency ?? 'ETH') : 'ETH'
}

/** Of imports ETH says what must be on the chain; the rest may also be the price of it. */
function recordOfHash(row: RecordedHash): PaymentRecord {
  const { transactionId, status, createdAt, arrival } = row
  const isEther = row.currency === 'ETH'
  const units = parseAmount({ text: row.amount, decimals: decimalsOf(row) })
  const imported = {
    payee: undefined,
    amount: {
      text: row.amount,
      currency: row.currency,
      ...(isEther
        ? { money: { units, token: null } }
        : { money: undefined, isPrice: true as const }),
    },
    reference: undefined,
    blockHash: undefined,
  }
  return {
    transactionId,
    hash: row.hash,
    status,
    ...(arrival === null ? imported : claimOfArrival(row, arrival)),
    createdAt,
    signer: undefined,
    nonce: undefined,
    fee: undefined,
    raw: undefined,
    line: undefined,
    isShared: row.isShared,
    signedFor: row.signedFor ?? undefined,
  }
}

/** A deposit, or what has closed a checkout: a part of its amount, or more than that. */
function claimOfArrival({ currency, tokenDecimals }: RecordedHash, arrival: RecordedArrival) {
  const { reference, payer, payee, token, amount, blockHash } = arrival
  const units = BigInt(amount)
  const decimals = token === null ? COIN_DECIMALS : (tokenDecimals ?? STABLECOIN_DECIMALS)
  return {
    payee: payee ?? undefined,
    payer,
    reference: reference ?? undefined,
    amount: {
      text: formatAmount({ amount: units, decimals }),
      currency: token === null ? coinIn({ currency, tokenDecimals }) : currency,
      money: { units, token },
    },
    blockHash: blockHash ?? undefined,
  }
}
