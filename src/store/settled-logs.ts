import { sql } from 'kysely'

import type { Hex } from '../domain/orders.ts'
import type { BlockId } from './chain-cursor.ts'
import type { Db } from './database.ts'

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
  /** Of its whole transaction, in wei; undefined where nobody asked for it. */
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

/** Stores what was read up to the block. What is there already was read before a stop. */
export async function storeSettledLogs(
  db: Db,
  key: SweepKey,
  read: { logs: readonly SettledLog[]; to: BlockId },
): Promise<void> {
  const { chainId, contract } = key
  for (let at = 0; at < read.logs.length; at += ROWS_AT_ONCE) {
    const rows = read.logs.slice(at, at + ROWS_AT_ONCE).map((log) => ({
      block_number: String(log.block.number),
      block_hash: log.block.hash,
      log_index: log.logIndex,
      hash: log.hash,
      reference: log.reference,
      payer: log.payer,
      payee: log.payee,
      token: log.token ?? null,
      amount: String(log.amount),
      fee: log.fee === undefined ? null : String(log.fee),
    }))
    await sql`
      insert into settled_logs (chain_id, contract, block_number, log_index, block_hash, hash,
        reference, payer, payee, token, amount, fee)
      select ${chainId}, ${contract}, block_number, log_index, block_hash, hash, reference, payer,
        payee, token, amount, fee
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as row (
        block_number bigint, log_index integer, block_hash text, hash text, reference text,
        payer text, payee text, token text, amount numeric, fee numeric
      )
      on conflict do nothing`.execute(db)
  }
  await sql`
    insert into sweep_cursors (chain_id, contract, block_number, block_hash)
    values (${chainId}, ${contract}, ${read.to.number}, ${read.to.hash})
    on conflict (chain_id, contract) do update set block_number = excluded.block_number,
      block_hash = excluded.block_hash`.execute(db)
}

const ROWS_AT_ONCE = 5_000

/** Another block stands where the sweep was: all is read anew. */
export async function forgetSweep(db: Db, { chainId, contract }: SweepKey): Promise<void> {
  await sql`
    delete from settled_logs where chain_id = ${chainId} and contract = ${contract}`.execute(db)
  await sql`
    delete from sweep_cursors where chain_id = ${chainId} and contract = ${contract}`.execute(db)
}

export type StraySettlement = Omit<SettledLog, 'fee'> & {
  /** Set where another settlement of the same order is the one that counts. */
  repeats: { subject: string; hash: Hex } | undefined
}

/**
 * Settlements that no order stands behind: by a signer of ours under a reference that no order has,
 * or under an order's reference and not as its payment.
 */
export async function listStraySettlements(
  db: Db,
  page: { chainId: number; after: { number: bigint; logIndex: number }; limit: number },
): Promise<StraySettlement[]> {
  const { rows } = await sql<StrayRow>`
    select s.*, other.subject as other_subject, other.hash as other_hash
    from settled_logs s
    left join lateral (
      select o.subject, a.hash from orders o
      join attempts a on a.order_id = o.id and a.kind = 'payment' and a.state = 'final'
        and a.succeeded
      where o.chain_id = s.chain_id and o.reference = s.reference and a.hash <> s.hash limit 1
    ) as other on true
    where s.chain_id = ${page.chainId}
      and (s.block_number, s.log_index) > (${page.after.number}, ${page.after.logIndex})
      and not exists (
        select 1 from attempts where chain_id = s.chain_id and attempts.hash = s.hash
      )
      and (other.subject is not null or exists (
        select 1 from nonce_lanes l where l.chain_id = s.chain_id and l.signer = s.payer
      ))
    order by s.block_number, s.log_index limit ${page.limit}`.execute(db)
  return rows.map((row) => ({
    block: { number: row.block_number, hash: row.block_hash },
    logIndex: row.log_index,
    hash: row.hash,
    reference: row.reference,
    payer: row.payer,
    payee: row.payee,
    token: row.token ?? undefined,
    amount: BigInt(row.amount),
    repeats:
      row.other_subject === null || row.other_hash === null
        ? undefined
        : { subject: row.other_subject, hash: row.other_hash },
  }))
}

type StrayRow = {
  block_number: bigint
  block_hash: Hex
  log_index: number
  hash: Hex
  reference: Hex
  payer: Hex
  payee: Hex
  token: Hex | null
  amount: string
  other_subject: string | null
  other_hash: Hex | null
}
