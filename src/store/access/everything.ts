import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { findTransactions } from '../transactions/found.ts'

/** One thing that a search found, of whichever kind. */
export type Found = {
  kind: 'transaction' | 'batch' | 'break' | 'run' | 'wallet' | 'transfer' | 'user'
  id: string
  title: string
  status: string | null
  amount: string | null
  currency: string | null
  createdAt: Date | null
}

/** So many of a kind: who sees more than these types more. */
const MOST = 6

/** So many of the newest transactions are read for any part of a description. */
const NEWEST = 2000

/**
 * What one text may mean, everywhere at once, each looked up in an index, however many rows there
 * are.
 */
export async function findEverywhere(db: Db, text: string): Promise<Found[]> {
  const lower = text.toLowerCase()
  if (/^0x[0-9a-f]{64}$/.test(lower)) return byHash(db, lower as Hex)
  if (/^0x[0-9a-f]{40}$/.test(lower)) return byAddress(db, lower as Hex)
  const named = await byName(db, text)
  return named.length > 0 && ID.test(text) ? named : [...named, ...(await byWords(db, text))]
}

const ID = /^(TX|BAT|BRK|RUN)[0-9a-f]+$/i

async function byHash(db: Db, hash: Hex): Promise<Found[]> {
  const page = { offset: 0, limit: MOST }
  const [paid, referenced] = [
    await findTransactions(db, { hash }, page),
    await findTransactions(db, { reference: hash }, page),
  ]
  const ids = [...paid.transactions, ...referenced.transactions].map((one) => one.transactionId)
  const { rows } = await sql<Found>`
    select ${TRANSACTION} from transactions t where t.transaction_id = any(${ids}::text[])
    union all
    select ${TRANSFER} from transfers m where m.id = any(array(
      select o.subject::uuid from attempts a join orders o on o.id = a.order_id
      where a.chain_id in (select chain_id from chains) and a.hash = ${hash}
        and o.subject like '________-%'
      union all
      select id from transfers where transaction_hash = ${hash}
      union all
      select id from transfers
      where chain_id in (select chain_id from chains) and reference = ${hash}
    ))
    union all
    select ${BATCH} from batches b where b.batch_id = any(array(
      select batch_id from transactions where transaction_id = any(${ids}::text[])
    ))
    union all
    select * from (
      select ${BREAK} from breaks k where k.hash = ${hash} and k.state = 'open' limit ${MOST}
    ) as breaks`.execute(db)
  return rows
}

async function byAddress(db: Db, address: Hex): Promise<Found[]> {
  const page = { offset: 0, limit: MOST }
  const { transactions } = await findTransactions(db, { toAddress: address }, page)
  const ids = transactions.map((one) => one.transactionId)
  const { rows } = await sql<Found>`
    select * from (
      select ${TRANSACTION} from transactions t where t.transaction_id = any(${ids}::text[])
      order by t.created_at desc, t.id desc
    ) as transactions
    union all
    select * from (
      select ${TRANSACTION} from transactions t where t.transaction_id = any(array(
        (select transaction_id from deposits where payer = ${address} limit ${MOST})
        union all
        (select transaction_id from checkout_payments where payer = ${address} limit ${MOST})
      ))
    ) as paid
    union all
    select * from (
      select ${TRANSFER} from transfers m where m.address = ${address}
      order by m.seq desc limit ${MOST}
    ) as transfers
    union all
    select 'user', u.id::text, u.username, null, null, null, u.created_at
    from users u where u.address = ${address}`.execute(db)
  return rows
}

/** By what names one thing: its id in any case, its external id, the beginning of a username. */
async function byName(db: Db, text: string): Promise<Found[]> {
  const upper = text.toUpperCase()
  const lower = text.toLowerCase()
  const after = `${lower}\uffff`
  const breakId = /^BRK[0-9a-f]+$/i.test(text) ? `BRK${lower.slice(3)}` : text
  const runId = /^RUN[0-9a-f]+$/i.test(text) ? `RUN${lower.slice(3)}` : text
  const walletId = /^[1-9][0-9]{0,17}$/.test(text) ? text : null
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(lower) ? lower : null
  const { rows } = await sql<Found>`
    select ${TRANSACTION} from transactions t where t.transaction_id = ${upper}
    union all
    select * from (
      select ${TRANSACTION} from transactions t where t.external_id = ${text} limit ${MOST}
    ) as external
    union all
    select ${TRANSACTION} from charges c join transactions t using (transaction_id)
    where c.gateway_id between 1 and 100 and c.external_id = ${text}
    union all
    select ${BATCH} from batches b where b.batch_id = ${upper}
    union all
    select ${BREAK} from breaks k where k.break_id = ${breakId}
    union all
    select 'run', r.run_id, 'Reconciliation run', r.state, null, null, r.created_at
    from runs r where r.run_id = ${runId}
    union all
    select 'wallet', w.id::text, w.description, null, null, null, w.created_at
    from wallets w where w.id = ${walletId}::bigint
    union all
    select ${TRANSFER} from transfers m where m.id = ${uuid}::uuid
    union all
    select * from (
      select 'user', u.id::text, u.username, null, null, null, u.created_at from users u
      where lower(u.username) >= ${lower} and lower(u.username) < ${after}
      order by lower(u.username) limit ${MOST}
    ) as named`.execute(db)
  return rows
}

/** By any part of a new description, by words of any description, or by the amount. */
async function byWords(db: Db, text: string): Promise<Found[]> {
  const part = `%${text.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`
  const digits = text.replaceAll(/(?<=[0-9])[,\s](?=[0-9]{3})/g, '')
  const amount = /^[0-9]{1,13}(\.[0-9]{1,18})?$/.test(digits) ? digits : null
  const newest = await sql<Found>`
    select ${TRANSACTION} from (
      select * from transactions order by created_at desc, id desc limit ${NEWEST}
    ) as t
    where t.description ilike ${part} or t.amount = ${amount}::numeric
    order by t.created_at desc, t.id desc limit ${MOST}`.execute(db)
  const found = [...newest.rows]
  for (const isOpen of [false, true]) {
    if (found.length >= MOST) break
    const { rows } = await sql<Found>`
      select ${TRANSACTION} from transactions t where t.id = any(array(
        select transactions_with_words(${text}, ${amount}::numeric, ${isOpen}, ${MOST})
      ))
      order by t.created_at desc, t.id desc`.execute(db)
    found.push(...rows.filter(({ id }) => found.every((one) => one.id !== id)))
  }
  return found.slice(0, MOST)
}

const TRANSACTION = sql`'transaction' as kind, t.transaction_id as id, t.description as title,
  t.status, trim_scale(t.amount)::text as amount, t.currency, t.created_at as "createdAt"`
const BATCH = sql`'batch' as kind, b.batch_id as id, b.count || ' payments' as title,
  case when b.done_at is null then 'pending' end as status,
  trim_scale(b.amount)::text as amount, b.currency, b.created_at as "createdAt"`
const BREAK = sql`'break' as kind, k.break_id as id, k.kind as title, k.state as status,
  null as amount, null as currency, k.first_seen_at as "createdAt"`
const TRANSFER = sql`'transfer' as kind, m.id::text as id, m.kind as title, m.status,
  trim_scale(m.amount / 1000000)::text as amount, m.currency, m.created_at as "createdAt"`
