import { sql, type RawBuilder } from 'kysely'

import { COIN_DECIMALS } from '../../domain/coins.ts'
import type {
  ExportBalance,
  ExportEntry,
  ExportKind,
  ExportSection,
  ExportWanted,
} from '../../domain/exports.ts'
import {
  CURRENCIES,
  decimalsOf,
  isCurrency,
  LEDGER_DECIMALS,
  MAX_DECIMALS,
} from '../../domain/money.ts'
import { chainCoin, chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'

/**
 * Read page by page, since the embedded database has one connection, and a transaction that lasts
 * would keep everybody else from it.
 */
export const EXPORTS: Readonly<
  Record<ExportKind, (db: Db, wanted: ExportWanted) => AsyncIterable<ExportSection>>
> = {
  transactions: exportTransactions,
  postings: exportPostings,
  fees: exportFees,
}

const PAGE = 1000

async function* exportTransactions(db: Db, wanted: ExportWanted): AsyncGenerator<ExportSection> {
  const { from, to } = wanted
  const { rows } = await sql<{ currency: string; sum: string }>`
    select currency, coalesce(sum(${COUNTED}) filter (where created_at < ${from}), 0)::text as sum
    from transactions t where created_at < ${to} ${ofWanted(wanted)}
    group by currency order by currency`.execute(db)
  const tokens = rows.map(({ currency }) => currency).filter((name) => !isCurrency(name))
  const openings = [...CURRENCIES, ...tokens].map((currency): ExportBalance => {
    const decimals = decimalsIn(currency)
    const units = BigInt(rows.find((row) => row.currency === currency)?.sum ?? 0)
    return { account: currency, currency, decimals, units }
  })
  yield { openings, entries: transactionEntries(db, wanted) }
}

/** Of a token as many as one can have, whatever its own are. */
function decimalsIn(currency: string): number {
  return isCurrency(currency) ? decimalsOf({ currency, type: 'deposit' }) : MAX_DECIMALS
}

/** What arrived minus what left, for good, in the smallest unit that the currency can have. */
const COUNTED = sql`trunc(
  case when status <> 'completed' then 0 when type in ('deposit', 'payment') then 1 else -1 end
  * amount * case currency when 'USD' then 1000000 when 'EUR' then 100 when 'GBP' then 100
    else 1000000000000000000::numeric end)`

type TransactionRow = {
  id: bigint
  at: Date
  currency: string
  counted: string
  fields: Record<string, string | null>
}

async function* transactionEntries(db: Db, wanted: ExportWanted): AsyncGenerator<ExportEntry> {
  const { from, to } = wanted
  const pages = pagesOf<TransactionRow>(async (last) => {
    const after = last && sql`and (created_at, id) > (${last.at}::timestamptz, ${last.id}::bigint)`
    const { rows } = await sql<TransactionRow>`
      select id, created_at as at, currency, (${COUNTED})::text as counted, jsonb_build_object(
        'transaction_id', transaction_id, 'user_id', user_id::text, 'type', type, 'status', status,
        'amount', amount::text, 'description', description,
        'eth_transaction_hash', eth_transaction_hash, 'gateway_id', gateway_id::text,
        'institution_id', institution_id::text,
        'chain', ${chainName('t.chain_id')}) as fields
      from transactions t
      where created_at >= ${last?.at ?? from} and created_at < ${to} ${ofWanted(wanted)}
        ${after ?? sql``}
      order by created_at, id limit ${PAGE}`.execute(db)
    return rows
  })
  for await (const { at, currency, counted, fields } of pages) {
    yield { account: currency, at, change: BigInt(counted), fields }
  }
}

/** One section for each account. */
async function* exportPostings(db: Db, wanted: ExportWanted): AsyncGenerator<ExportSection> {
  const { userId, chainId, from } = wanted
  const owner = userId === undefined ? sql`` : sql`and w.user_id = ${userId}`
  const place = chainId === undefined ? sql`` : sql`and a.chain_id = ${chainId}`
  const accounts = pagesOf<AccountRow>(async (last) => {
    const { rows } = await sql<AccountRow>`
      select a.id, a.kind, a.wallet_id::text as "walletId", a.currency,
        ${chainName('a.chain_id')} as chain, a.balance - coalesce((
          select sum(case when p.to_account = a.id then p.amount else -p.amount end) from (
            select * from postings where from_account = a.id
            union all select * from postings where to_account = a.id
          ) p where p.posted_at >= ${from}
        ), 0) as opening
      from accounts a left join wallets w on w.id = a.wallet_id
      where a.id > ${last?.id ?? 0n} ${owner} ${place}
      order by a.id limit 100`.execute(db)
    return rows
  }, 100)
  for await (const { id, kind, walletId, currency, chain, opening } of accounts) {
    const account = walletId === null ? kind : `${kind}:${walletId}`
    const units = BigInt(opening)
    yield {
      openings: [{ account, currency, decimals: LEDGER_DECIMALS, units }],
      entries: postingEntries(db, { ...wanted, id, account, walletId, chain }),
    }
  }
}

type AccountRow = {
  id: bigint
  kind: string
  walletId: string | null
  currency: string
  /** Of what is owed to the holders of a stablecoin. */
  chain: string | null
  opening: string
}

type PostingRow = { id: bigint; at: Date; change: string; kind: string; subject: string }

async function* postingEntries(
  db: Db,
  of: ExportWanted & Pick<AccountRow, 'id' | 'walletId' | 'chain'> & { account: string },
): AsyncGenerator<ExportEntry> {
  const { from, to, id: accountId, account, walletId, chain } = of
  const pages = pagesOf<PostingRow>(async (last) => {
    const after = last?.id ?? 0n
    const side = (column: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
      select * from postings where ${column} = ${accountId} and id > ${after}
        and posted_at >= ${from} and posted_at < ${to}
      order by id limit ${PAGE})`
    const { rows } = await sql<PostingRow>`
      select id, posted_at as at, kind, subject,
        (case when to_account = ${accountId} then amount else -amount end)::text as change
      from (${side(sql`from_account`)} union all ${side(sql`to_account`)}) p
      order by id limit ${PAGE}`.execute(db)
    return rows
  })
  for await (const { id, at, change, kind, subject } of pages) {
    const fields = { posting_id: String(id), wallet_id: walletId, kind, subject, chain }
    yield { account, at, change: BigInt(change), fields }
  }
}

type FeeRow = {
  id: bigint
  at: Date
  coin: string
  fee: string
  fields: Record<string, string | null>
}

/** What the transactions of orders have cost: those that pay, and those that took their place. */
async function* exportFees(db: Db, wanted: ExportWanted): AsyncGenerator<ExportSection> {
  const { rows } = await sql<{ coin: string; sum: string }>`
    select ${chainCoin('a.chain_id')} as coin, coalesce(sum(gas_used * gas_price + rollup_fee)
      filter (where a.signed_at < ${wanted.from}), 0)::text as sum ${fees(wanted)}
      and a.signed_at < ${wanted.to} group by coin order by coin`.execute(db)
  const coins = rows.length > 0 ? rows : [{ coin: 'ETH', sum: '0' }]
  const openings = coins.map(({ coin, sum }): ExportBalance => {
    return { account: coin, currency: coin, decimals: COIN_DECIMALS, units: -BigInt(sum) }
  })
  yield { openings, entries: feeEntries(db, wanted) }
}

async function* feeEntries(db: Db, wanted: ExportWanted): AsyncGenerator<ExportEntry> {
  const { from, to } = wanted
  const pages = pagesOf<FeeRow>(async (last) => {
    const { rows } = await sql<FeeRow>`
      select a.id, a.signed_at as at, ${chainCoin('a.chain_id')} as coin,
        (a.gas_used * a.gas_price + a.rollup_fee)::text as fee,
        jsonb_build_object(
        'transaction_id', o.subject, 'user_id', u.id::text, 'kind', a.kind,
        'eth_tx_hash', a.hash, 'block_number', a.block_number::text,
        'gas_used', a.gas_used::text, 'gas_price', a.gas_price::text,
        'rollup_fee', a.rollup_fee::text, 'chain', ${chainName('a.chain_id')}) as fields
      ${fees(wanted)} and a.id > ${last?.id ?? 0n}
        and a.signed_at >= ${from} and a.signed_at < ${to}
      order by a.id limit ${PAGE}`.execute(db)
    return rows
  })
  for await (const { at, coin, fee, fields } of pages) {
    yield { account: coin, at, change: -BigInt(fee), fields }
  }
}

/** Whose address pays them: allowances and bundles have no transaction of the user's. */
function fees({ userId, chainId }: ExportWanted): RawBuilder<unknown> {
  return sql`from attempts a join orders o on o.id = a.order_id
    left join users u on u.address = o.signer
    where a.state = 'final' ${userId === undefined ? sql`` : sql`and u.id = ${userId}`}
      ${chainId === undefined ? sql`` : sql`and a.chain_id = ${chainId}`}`
}

function ofWanted({ userId, chainId }: ExportWanted): RawBuilder<unknown> {
  const owner = userId === undefined ? sql`` : sql`and t.user_id = ${userId}`
  return chainId === undefined ? owner : sql`${owner} and t.chain_id = ${chainId}`
}

/** One row after the other, each page after the last row of the one before. */
async function* pagesOf<Row>(
  read: (last: Row | undefined) => Promise<readonly Row[]>,
  size = PAGE,
): AsyncGenerator<Row> {
  let last: Row | undefined
  for (;;) {
    const rows = await read(last)
    yield* rows
    if (rows.length < size) return
    last = rows.at(-1)
  }
}
