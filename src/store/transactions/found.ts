import { sql, type RawBuilder } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { TransactionStatus, TransactionType } from '../../domain/states.ts'
import type { Db } from '../database/database.ts'
import { TRANSACTION, inUnits, type InDecimals, type Transaction } from './transactions.ts'

/** What a transaction keeps for good, and is found again by. */
export type Features = {
  chainId?: number | undefined
  /** In lower case. */
  toAddress?: Hex | undefined
  metadata?: Readonly<Record<string, string>> | undefined
  currency?: string | undefined
  /** Decimals of that currency, both included; without a currency they mean nothing. */
  minAmount?: string | undefined
  maxAmount?: string | undefined
}

/** What names one transaction, or a few of them. */
export type Names = {
  /** Of any transaction on the chain that is, or was, to pay it, or that has paid it. */
  hash?: Hex | undefined
  /** Of the transaction on the chain that it shows. */
  ethTransactionHash?: Hex | undefined
  /** Under which it stands, or a part of it, on the chain. */
  reference?: Hex | undefined
  externalId?: string | undefined
  batchId?: string | undefined
}

export type Wanted = Features &
  Names & {
    /** Absent: everybody's. */
    userId?: number | undefined
    type?: TransactionType | undefined
    status?: TransactionStatus | undefined
    /** From this time on. */
    from?: Date | undefined
    /** Before this time. */
    until?: Date | undefined
  }

/** The last transaction of a page: the next page begins after it, whatever was added meanwhile. */
export type ListPlace = { createdAt: Date; id: bigint }

export type PageRequest = { limit: number } & ({ offset: number } | { after: ListPlace })

export type TransactionPage = {
  transactions: Transaction[]
  /** Of all that are wanted, whatever the page. */
  total: number
  /** Whether there are no more than that. */
  isExact: boolean
  /** Where a search stopped before its end: it goes on from there. */
  stoppedAt: ListPlace | undefined
}

/** So many rows are compared for a page, and as many for its total. */
const MAX_COMPARED = 1000

/** Whether it takes more to find them than the list and its tallies. */
export function isSearch(wanted: Wanted): boolean {
  const { chainId, toAddress, metadata = {}, currency } = wanted
  const features = [chainId, toAddress, currency, ...Object.values(metadata)]
  return namesIn(wanted).length > 0 || features.some((feature) => feature !== undefined)
}

/**
 * One page, newest first, in a time that does not grow with the number of rows: the one index that
 * leads to the fewest is read, no further than a bound, and each of its rows is compared with what
 * the index does not know. Where the bound ends it, the page says where to go on.
 */
export async function findTransactions(
  db: Db,
  wanted: Wanted,
  page: PageRequest & { most?: number },
): Promise<TransactionPage> {
  const { most = MAX_COMPARED } = page
  const source = await bestSource(db, sourcesOf(wanted), most)
  const checks = unknownTo(source, wanted)
  const after = 'after' in page ? page.after : undefined
  const offset = 'after' in page ? 0 : page.offset
  // The first pages begin where the total does, so that one comparison does for both.
  const begun = after ? sql`(${taken(source, checks, after)}) as begun` : sql`taken`
  const { rows } = await sql<FoundRow>`
    with taken as materialized (${taken(source, checks)})
    select counted.*, stopped.*, found.* from (
      select (select count(*) from taken) as total,
        not exists (${behindBound(source)}) as "isExact"
    ) as counted
    left join lateral (${endOf(source, after)}) as stopped on true
    left join lateral (
      select t.* from (
        select at, id from ${begun}
        order by at desc, id desc limit ${page.limit} offset ${offset}
      ) as place cross join lateral (
        select ${TRANSACTION} from transactions t where t.id = place.id offset 0
      ) as t
    ) as found on true
    order by found."createdAt" desc, found.id desc`.execute(db)
  return pageOf(rows)
}

type FoundRow = Ends & (InDecimals<Transaction> | { id: null })

type Ends = { total: bigint; isExact: boolean; stopAt: Date | null; stopId: bigint | null }

function withoutEnds<Row extends Ends>(row: Row): Omit<Row, keyof Ends> {
  const { total: _total, isExact: _isExact, stopAt: _stopAt, stopId: _stopId, ...rest } = row
  return rest
}

function pageOf(rows: readonly FoundRow[]): TransactionPage {
  const { total = 0n, isExact = true, stopAt: createdAt, stopId } = rows[0] ?? {}
  return {
    total: Number(total),
    isExact,
    stoppedAt: createdAt && stopId ? { createdAt, id: stopId } : undefined,
    transactions: rows.flatMap((row) => (row.id === null ? [] : [inUnits(withoutEnds(row))])),
  }
}

/** Places of transactions in an index, `at` and `id`. */
type Source = {
  /** The conditions that all of them fulfil. */
  knows: readonly string[]
  /** Whether they come in the order of the list. Others are read as a whole. */
  isOrdered: boolean
  /** How its index has them. In another order a few of them may be read off the table. */
  order: RawBuilder<unknown>
  places: (after?: ListPlace) => RawBuilder<unknown>
}

const BY_PLACE = sql`at desc, id desc`

/**
 * Every index that leads to what is wanted, and not to much else; where none leads to few, the
 * first ordered one is as good as any.
 */
function sourcesOf(wanted: Wanted): Source[] {
  const { userId, type, status, chainId, toAddress, metadata = {}, currency, ...rest } = wanted
  const names = namesIn(wanted)
  if (names.length > 0) return [named(wanted, names)]
  const words = Object.entries(metadata)
  const hasAmount = rest.minAmount !== undefined || rest.maxAmount !== undefined
  const isPriced = currency !== undefined && hasAmount
  const listed = type !== undefined || status !== undefined
  return [
    ...words.map((word) => said(wanted, word)),
    ...(toAddress === undefined ? [] : [featured(wanted, { name: 'to_address', is: toAddress })]),
    ...(isPriced && userId !== undefined ? [priced(wanted)] : []),
    ...(listed && userId !== undefined ? [inList(wanted)] : []),
    ...(currency === undefined ? [] : [featured(wanted, { name: 'currency', is: currency })]),
    ...(chainId === undefined ? [] : [featured(wanted, { name: 'chain_id', is: chainId })]),
    // An administrator's search has only the list in its order.
    ...(userId === undefined ? [inList({ ...wanted, type: undefined, status: undefined })] : []),
  ]
}

function named({ userId, from, until }: Wanted, names: readonly RawBuilder<unknown>[]): Source {
  return {
    knows: [],
    isOrdered: false,
    order: sql`id`,
    places: (after) => sql`
      select created_at as at, id from transactions
      where ${sql.join(names, sql` and `)} ${and(userId, (id) => sql`user_id = ${id}`)}
        ${within({ from, until, after }, 'id')}`,
  }
}

function said(wanted: Wanted, [key, word]: readonly [string, string]): Source {
  return {
    knows: [`${key}=${word}`],
    ...inOrderOfUser(wanted),
    places: (after) => sql`
      select created_at as at, internal_id as id from transaction_words
      where digest = word_digest(${key}, ${word}) ${ofUser(wanted, after)}`,
  }
}

function featured(
  wanted: Wanted,
  { name, is }: { name: 'to_address' | 'currency'; is: string } | { name: 'chain_id'; is: number },
): Source {
  return {
    knows: [name],
    ...inOrderOfUser(wanted),
    places: (after) => sql`
      select created_at as at, internal_id as id from transaction_features
      where ${sql.ref(name)} = ${is} ${ofUser(wanted, after)}`,
  }
}

function priced(wanted: Wanted): Source {
  const { currency, minAmount, maxAmount } = wanted
  return {
    knows: ['currency', 'amount'],
    isOrdered: false,
    order: sql`amount`,
    places: (after) => sql`
      select created_at as at, internal_id as id from transaction_features
      where currency = ${currency}
        and amount between ${minAmount ?? '0'}::numeric and ${maxAmount ?? '1e13'}::numeric
        ${ofUser(wanted, after)}`,
  }
}

/** The index of a feature has each user by itself. */
function inOrderOfUser({ userId }: Wanted): Pick<Source, 'isOrdered' | 'order'> {
  if (userId !== undefined) return { isOrdered: true, order: BY_PLACE }
  return { isOrdered: false, order: sql`user_id, created_at, internal_id` }
}

function ofUser({ userId, from, until }: Wanted, after?: ListPlace): RawBuilder<unknown> {
  return sql`${and(userId, (id) => sql`user_id = ${id}`)}
    ${within({ from, until, after }, 'internal_id')}`
}

function inList({ userId, type, status, from, until }: Wanted): Source {
  return {
    knows: ['type', 'status'].filter((name) => (name === 'type' ? type : status) !== undefined),
    isOrdered: true,
    order: BY_PLACE,
    places: (after) => sql`
      select created_at as at, id from transactions
      where true ${and(userId, (id) => sql`user_id = ${id}`)}
        ${and(type, (one) => sql`type = ${one}`)} ${and(status, (one) => sql`status = ${one}`)}
        ${within({ from, until, after }, 'id')}`,
  }
}

/** The time and the page, by the columns that every index has. */
function within(
  { from, until, after }: Pick<Wanted, 'from' | 'until'> & { after: ListPlace | undefined },
  id: 'id' | 'internal_id',
): RawBuilder<unknown> {
  // A walk begins at one bound alone, and would have to skip all that lies between two.
  const isAfterFirst = after !== undefined && (until === undefined || after.createdAt < until)
  const place = sql`(created_at, ${sql.ref(id)})`
  return sql`
    ${and(from, (time) => sql`created_at >= ${time}`)}
    ${and(isAfterFirst ? undefined : until, (time) => sql`created_at < ${time}`)}
    ${and(isAfterFirst ? after : undefined, (last) => {
      return sql`${place} < (${last.createdAt}, ${last.id}::bigint)`
    })}`
}

function and<T>(
  value: T | undefined,
  condition: (value: T) => RawBuilder<unknown>,
): RawBuilder<unknown> {
  return value === undefined ? sql`` : sql`and ${condition(value)}`
}

/** Of `transactions t`, each condition that the source does not know. */
function unknownTo({ knows }: Source, wanted: Wanted): RawBuilder<unknown>[] {
  const { type, status, chainId, toAddress, metadata = {}, currency } = wanted
  const { minAmount, maxAmount } = wanted
  const known = new Set(knows)
  const isPriced = currency !== undefined && !known.has('amount')
  const amounts = isPriced ? { minAmount, maxAmount } : {}
  return [
    ...Object.entries(metadata)
      .filter(([key, word]) => !known.has(`${key}=${word}`))
      .map(([key, word]) => sql`t.metadata ->> ${key} = ${word}`),
    !known.has('type') && type && sql`t.type = ${type}`,
    !known.has('status') && status && sql`t.status = ${status}`,
    !known.has('chain') && chainId && sql`t.chain_id = ${chainId}`,
    !known.has('to_address') && toAddress && sql`t.to_address = ${toAddress}`,
    !known.has('currency') && currency && sql`t.currency = ${currency}`,
    amounts.minAmount && sql`t.amount >= ${amounts.minAmount}::numeric`,
    amounts.maxAmount && sql`t.amount <= ${amounts.maxAmount}::numeric`,
  ].filter((check) => typeof check === 'object')
}

type Bounded = Source & { most: number }

/** Without checks the index alone is read. */
function taken(
  { isOrdered, places, most }: Bounded,
  checks: readonly RawBuilder<unknown>[],
  after?: ListPlace,
): RawBuilder<unknown> {
  const bound = isOrdered ? sql`order by ${BY_PLACE} limit ${most}` : sql``
  const read = sql`${places(after)} ${bound}`
  if (checks.length === 0) return read
  return sql`
    select place.* from (${read}) as place cross join lateral (
      select from transactions t where t.id = place.id and ${sql.join(checks, sql` and `)} offset 0
    ) as t`
}

function behindBound({ isOrdered, places, most }: Bounded): RawBuilder<unknown> {
  if (!isOrdered) return sql`select where false`
  return sql`${places()} order by at desc, id desc limit 1 offset ${most}`
}

/** The last place that was read, where there are more behind it. */
function endOf(
  { isOrdered, places, most }: Bounded,
  after: ListPlace | undefined,
): RawBuilder<unknown> {
  if (!isOrdered) return sql`select null::timestamptz as "stopAt", null::bigint as "stopId"`
  return sql`
    select at as "stopAt", id as "stopId" from (
      select at, id, count(*) over () as number from (
        ${places(after)} order by at desc, id desc limit 2 offset ${most - 1}
      ) as two
    ) as last where number = 2
    order by at desc, id desc limit 1`
}

/** The one with the fewest, as far as one needs to know that. */
async function bestSource(db: Db, sources: readonly Source[], most: number): Promise<Bounded> {
  const [first] = sources
  if (sources.length === 1 && first) return { ...first, most }
  const counts = sources.map(
    ({ places, order }) => sql`
      (select count(*) from (${places()} order by ${order} limit ${most + 1}) as few)`,
  )
  const { rows } = await sql<{ counts: bigint[] }>`
    select array[${sql.join(counts)}] as counts`.execute(db)
  const numbers = rows[0]!.counts.map(Number)
  const fewest = Math.min(...numbers)
  const best =
    fewest > most ? sources.find(({ isOrdered }) => isOrdered) : sources[numbers.indexOf(fewest)]
  return { ...best!, most }
}

/** What names a few, as conditions. */
function namesIn(wanted: Names): RawBuilder<unknown>[] {
  const { hash, ethTransactionHash, reference, externalId, batchId } = wanted
  return [
    hash && sql`transaction_id in (${ofHash(hash)})`,
    ethTransactionHash && sql`eth_transaction_hash = ${ethTransactionHash}`,
    reference && sql`transaction_id in (${ofReference(reference)})`,
    externalId !== undefined && sql`external_id = ${externalId}`,
    batchId !== undefined && sql`batch_id = ${batchId}`,
  ].filter((name) => typeof name === 'object')
}

const OUR_CHAINS = sql`(select chain_id from chains)`

function ofHash(hash: Hex): RawBuilder<unknown> {
  return sql`
    select transaction_id from transactions where eth_transaction_hash = ${hash}
    union all
    select o.subject from attempts a join orders o on o.id = a.order_id
    where a.chain_id in ${OUR_CHAINS} and a.hash = ${hash}
    union all
    select o.subject from attempts a join orders o on o.bundle = a.order_id
    where a.chain_id in ${OUR_CHAINS} and a.hash = ${hash}
    union all
    select transaction_id from checkout_payments
    where chain_id in ${OUR_CHAINS} and transaction_hash = ${hash}`
}

/** The parts of a checkout differ from its own reference in the last byte. */
function ofReference(reference: Hex): RawBuilder<unknown> {
  return sql`
    select subject from orders where chain_id in ${OUR_CHAINS} and reference = ${reference}
    union all
    select transaction_id from charges
    where reference is not null and left(reference, 64) = left(${reference}::text, 64)`
}
