import { sql, type RawBuilder } from 'kysely'

import { groupsOf } from '../../base/groups.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'
import type { BlockId } from '../orders/chain-cursor.ts'

/** A settlement as the contract logged it, in a block that is final. */
export type SettledLog = {
  block: BlockId
  logIndex: number
  hash: Hex
  reference: Hex
  payer: Hex
  payee: Hex
  /** Undefined for the native coin. */
  token: Hex | undefined
  amount: bigint
  /** Of ours, which was signed before anybody could see it; undefined for all others. */
  own: OwnPayment | undefined
}

export type OwnPayment = {
  orderId: bigint
  /** Of the whole transaction, in wei; undefined where too few nodes tell. */
  fee: bigint | undefined
}

export type SweepKey = { chainId: number; contract: Hex }

export async function readSweepCursor(db: Db, key: SweepKey): Promise<BlockId | undefined> {
  const { rows } = await sql<BlockId>`
    select block_number as number, block_hash as hash from sweep_cursors
    where chain_id = ${key.chainId} and contract = ${key.contract}`.execute(db)
  return rows[0]
}

/** The first block that any payment of ours can be in; undefined while there is none. */
export async function firstBlockOfOurs(db: Db, chainId: number): Promise<bigint | undefined> {
  const { rows } = await sql<{ first: bigint | null }>`
    select min(block_number) as first from attempts
    where chain_id = ${chainId} and state = 'final'`.execute(db)
  return rows[0]?.first ?? undefined
}

/**
 * Stores the logs of these blocks if the cursor is just before them or does not exist yet. False:
 * another caller has stored them meanwhile, and nothing was stored. The cursor is written first, so
 * that the second of two concurrent callers waits, and then sees the change.
 */
export async function storeSettledLogs(
  db: Db,
  { chainId, contract }: SweepKey,
  { logs, from, to }: { logs: readonly SettledLog[]; from: bigint; to: BlockId },
): Promise<boolean> {
  const { rows: moved } = await sql`
    insert into sweep_cursors (chain_id, contract, block_number, block_hash)
    values (${chainId}, ${contract}, ${to.number}, ${to.hash})
    on conflict (chain_id, contract) do update set block_number = excluded.block_number,
      block_hash = excluded.block_hash
    where sweep_cursors.block_number = ${from - 1n}
    returning 1`.execute(db)
  if (moved.length === 0) return false
  for (const rows of groupsOf(logs, ROWS_AT_ONCE)) {
    await sql`
      insert into settled_logs (chain_id, contract, block_number, log_index, block_hash, hash,
        reference, payer, payee, token, amount, order_id, fee)
      select ${chainId}, ${contract}, row.* from unnest(
        ${listOf(rows, ({ block }) => block.number)}::text::bigint[],
        ${listOf(rows, ({ logIndex }) => logIndex)}::text::integer[],
        ${listOf(rows, ({ block }) => block.hash)}::text::text[],
        ${listOf(rows, ({ hash }) => hash)}::text::text[],
        ${listOf(rows, ({ reference }) => reference)}::text::text[],
        ${listOf(rows, ({ payer }) => payer)}::text::text[],
        ${listOf(rows, ({ payee }) => payee)}::text::text[],
        ${listOf(rows, ({ token }) => token)}::text::text[],
        ${listOf(rows, ({ amount }) => amount)}::text::numeric[],
        ${listOf(rows, ({ own }) => own?.orderId)}::text::bigint[],
        ${listOf(rows, ({ own }) => own?.fee)}::text::numeric[]
      ) as row`.execute(db)
  }
  return true
}

const ROWS_AT_ONCE = 5_000

/** One column as an array's text: of numbers and hex, which need no quotes, the cheapest way in. */
function listOf(
  rows: readonly SettledLog[],
  cell: (row: SettledLog) => string | number | bigint | undefined,
): string {
  return `{${rows.map((row) => cell(row) ?? 'null').join(',')}}`
}

/** Another block stands where the sweep was: all is read anew. */
export async function forgetSweep(db: Db, { chainId, contract }: SweepKey): Promise<void> {
  await sql`
    delete from settled_logs where chain_id = ${chainId} and contract = ${contract}`.execute(db)
  await sql`
    delete from sweep_cursors where chain_id = ${chainId} and contract = ${contract}`.execute(db)
}

export type StraySettlement = Omit<SettledLog, 'own'> & {
  /** Set where another settlement of the same order is the one that counts. */
  repeats: { subject: string; hash: Hex } | undefined
}

/** Where a log stands among all that were read on a chain. */
export type LogPlace = { contract: string; block: bigint; logIndex: number }

/** The log of none of ours so many places further on; undefined where there are not as many. */
export async function logBehind(
  db: Db,
  page: { chainId: number; after: LogPlace; count: number },
): Promise<LogPlace | undefined> {
  const { rows } = await sql<LogPlace>`
    select contract, block_number as block, log_index as "logIndex" from settled_logs s
    where chain_id = ${page.chainId} and ${IS_STRANGE} and ${PLACE} > ${placeOf(page.after)}
    order by contract, block_number, log_index offset ${page.count - 1} limit 1`.execute(db)
  return rows[0]
}

/**
 * Settlements that no order explains. Either a signer of ours made one that does not pay an order,
 * or anyone paid again what an order has paid. Anyone may use a reference of ours for something
 * else, which does not concern us.
 */
export async function listStraySettlements(
  db: Db,
  page: { chainId: number; after: LogPlace; to: LogPlace | undefined },
): Promise<StraySettlement[]> {
  return readAll<StraySettlement>(db)`
    select ${STRAY}
    from settled_logs s
    left join lateral (
      select o.subject, a.hash from orders o
      join attempts a on a.order_id = o.signed_for and a.kind = 'payment' and a.state = 'final'
        and a.succeeded
      where o.chain_id = s.chain_id and o.reference = s.reference and a.hash <> s.hash
        and (${IS_BY_US} or (o.payee = s.payee and o.amount = s.amount
          and o.token is not distinct from s.token))
      limit 1
    ) as other on true
    where s.chain_id = ${page.chainId} and ${IS_STRANGE} and ${PLACE} > ${placeOf(page.after)}
      ${page.to === undefined ? sql`` : sql`and ${PLACE} <= ${placeOf(page.to)}`}
      and not exists (
        select 1 from attempts where chain_id = s.chain_id and attempts.hash = s.hash
      )
      and (other.subject is not null or ${IS_BY_US})
    order by s.contract, s.block_number, s.log_index`
}

const STRAY =
  columnsOf<StraySettlement>()(`s.block_number as block.number, s.block_hash as block.hash,
  s.log_index, s.hash, s.reference, s.payer, s.payee, s.token, s.amount,
  other.subject as repeats.subject, other.hash as repeats.hash`)

/** As it was when the log was read. */
const IS_STRANGE = sql`s.order_id is null`

const IS_BY_US = sql`exists (
  select 1 from nonce_lanes l where l.chain_id = s.chain_id and l.signer = s.payer
)`

const PLACE = sql`(s.contract, s.block_number, s.log_index)`

function placeOf({ contract, block, logIndex }: LogPlace): RawBuilder<unknown> {
  return sql`(${contract}::text, ${block}::bigint, ${logIndex}::integer)`
}

/**
 * Makes the keys of this server go on after those that the tables already carry. A dump that was
 * restored elsewhere brings keys of a server whose transaction ids were higher: without this, new
 * rows would be filed among old ones, and readers past them would never see them.
 *
 * Each key of a transaction is also that of an event, and of those one index entry per user tells.
 */
export async function continueLogs(db: Db): Promise<void> {
  await sql`
    insert into log_clock (base)
    select latest.log_key - pg_current_xact_id()::text::bigint + 1
    from (
      select greatest(
        (select max(log_key) from tally_horizons),
        (
          select max(last.log_key) from users cross join lateral (
            select log_key from events where user_id = users.id order by log_key desc limit 1
          ) as last
        )
      ) as log_key
    ) latest
    where latest.log_key > log_key_now()
    on conflict (id) do update set base = excluded.base`.execute(db)
}
