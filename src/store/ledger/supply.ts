import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'

/** A stablecoin on its chain. */
export type TokenKey = { chainId: number; token: Hex }

export type TokenCursor = { blockNumber: bigint; blockHash: Hex }

export type SupplyFinding =
  | 'no_order'
  | 'wrong_amount'
  | 'wrong_holder'
  | 'wrong_token'
  | 'late'
  | 'doubled'
  | 'unbacked'
  | 'unknown_mint'

export type StoredSupplyEvent = TokenKey & {
  kind: 'mint' | 'burn'
  holder: Hex
  memo: Hex
  amount: bigint
  transactionHash: Hex
  blockNumber: bigint
  blockHash: Hex
  transferId: string | undefined
  finding: SupplyFinding | undefined
}

export async function readTokenCursor(db: Db, key: TokenKey): Promise<TokenCursor | undefined> {
  const { rows } = await sql<TokenCursor>`
    select block_number as "blockNumber", block_hash as "blockHash" from token_cursors
    where chain_id = ${key.chainId} and token = ${key.token}`.execute(db)
  return rows[0]
}

/** False where another reader has moved it since, and so did the same work. */
export async function moveTokenCursor(
  db: Db,
  key: TokenKey,
  move: { from: TokenCursor | undefined; to: TokenCursor },
): Promise<boolean> {
  const { from, to } = move
  const { rows } = await sql`
    insert into token_cursors as c (chain_id, token, block_number, block_hash)
    values (${key.chainId}, ${key.token}, ${to.blockNumber}, ${to.blockHash})
    on conflict (chain_id, token) do update
      set block_number = excluded.block_number, block_hash = excluded.block_hash
      where c.block_number = ${from?.blockNumber ?? -1n} and c.block_hash = ${from?.blockHash ?? ''}
    returning 1`.execute(db)
  return rows.length > 0
}

/** False: it was read before, and whatever follows from it has been done. */
export async function insertSupplyEvent(db: Db, event: StoredSupplyEvent): Promise<boolean> {
  const { rows } = await sql`
    insert into supply_events (chain_id, token, kind, holder, memo, amount, transaction_hash,
      block_number, block_hash, transfer_id, finding)
    values (${event.chainId}, ${event.token}, ${event.kind}, ${event.holder}, ${event.memo},
      ${String(event.amount)}::numeric, ${event.transactionHash}, ${event.blockNumber},
      ${event.blockHash}, ${event.transferId ?? null}, ${event.finding ?? null})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length > 0
}

export type PlacedEvent = Pick<
  StoredSupplyEvent,
  'kind' | 'amount' | 'transferId' | 'transactionHash' | 'blockNumber' | 'blockHash'
>

/** What was read from blocks above that one, in their order. */
export async function listEventsAbove(
  db: Db,
  key: TokenKey,
  wanted: { blockNumber: bigint; limit: number },
): Promise<PlacedEvent[]> {
  const { rows } = await sql<Omit<FindingRow, 'finding'>>`
    select * from supply_events
    where chain_id = ${key.chainId} and token = ${key.token}
      and block_number > ${wanted.blockNumber}
    order by block_number limit ${wanted.limit}`.execute(db)
  return rows.map((row) => ({
    kind: row.kind,
    amount: BigInt(row.amount),
    transferId: row.transfer_id ?? undefined,
    transactionHash: row.transaction_hash,
    blockNumber: row.block_number,
    blockHash: row.block_hash,
  }))
}

export type SupplyFindingRow = Omit<StoredSupplyEvent, 'finding'> & {
  finding: SupplyFinding
  readAt: Date
}

/** What did not fit, newest first. */
export async function listFindings(
  db: Db,
  wanted: { chainId: number; limit: number },
): Promise<SupplyFindingRow[]> {
  const { rows } = await sql<FindingRow>`
    select * from supply_events where finding is not null and chain_id = ${wanted.chainId}
    order by read_at desc, block_number desc limit ${wanted.limit}`.execute(db)
  return rows.map((row) => ({
    chainId: Number(row.chain_id),
    token: row.token,
    kind: row.kind,
    holder: row.holder,
    memo: row.memo,
    amount: BigInt(row.amount),
    transactionHash: row.transaction_hash,
    blockNumber: row.block_number,
    blockHash: row.block_hash,
    transferId: row.transfer_id ?? undefined,
    finding: row.finding,
    readAt: row.read_at,
  }))
}

export async function countFindings(db: Db, chainId: number): Promise<Map<string, number>> {
  const { rows } = await sql<{ finding: string; count: bigint }>`
    select finding, count(*) from supply_events
    where finding is not null and chain_id = ${chainId} group by finding`.execute(db)
  return new Map(rows.map(({ finding, count }) => [finding, Number(count)]))
}

/** The chain's supply beside the ledger's, as of one final block. */
export type Solvency = {
  blockNumber: bigint
  supply: bigint
  liability: bigint
  mintsAhead: bigint
  mintsBehind: bigint
  /** Zero where the chain has what the ledger owes. */
  drift: bigint
  checkedAt: Date
}

/**
 * Holds the supply at a final block against the ledger, in one statement, so that nothing moves
 * meanwhile. Mints that the one has and the other is about to have are told apart, so that there is
 * no tolerance.
 */
export async function storeSolvency(
  db: Db,
  key: TokenKey,
  seen: { blockNumber: bigint; supply: bigint; now: Date },
): Promise<Solvency> {
  const { rows } = await sql<SolvencyRow>`
    insert into solvency (chain_id, token, block_number, supply, liability, mints_ahead,
      mints_behind, checked_at)
    select ${key.chainId}, ${key.token}, ${seen.blockNumber}, ${String(seen.supply)}::numeric,
      coalesce((select balance from accounts where kind = 'stablecoin' and wallet_id is null), 0),
      coalesce((
        select sum(t.amount) from transfers t join supply_events e on e.transfer_id = t.id
        where t.kind = 'mint' and t.status in ('pending', 'running') and e.kind = 'mint'
          and e.chain_id = ${key.chainId} and e.token = ${key.token}
      ), 0),
      coalesce((
        select sum(amount) from transfers
        where kind = 'mint' and status = 'complete' and block_number > ${seen.blockNumber}
      ), 0),
      ${seen.now}
    on conflict (chain_id, token) do update
      set block_number = excluded.block_number, supply = excluded.supply,
        liability = excluded.liability, mints_ahead = excluded.mints_ahead,
        mints_behind = excluded.mints_behind, checked_at = excluded.checked_at
    returning *`.execute(db)
  return solvencyOf(rows[0]!)
}

export async function readSolvency(db: Db, key: TokenKey): Promise<Solvency | undefined> {
  const { rows } = await sql<SolvencyRow>`
    select * from solvency where chain_id = ${key.chainId} and token = ${key.token}`.execute(db)
  return rows[0] && solvencyOf(rows[0])
}

type SolvencyRow = {
  block_number: bigint
  supply: string
  liability: string
  mints_ahead: string
  mints_behind: string
  checked_at: Date
}

type FindingRow = {
  chain_id: bigint
  token: Hex
  kind: 'mint' | 'burn'
  holder: Hex
  memo: Hex
  amount: string
  transaction_hash: Hex
  block_number: bigint
  block_hash: Hex
  transfer_id: string | null
  finding: SupplyFinding
  read_at: Date
}

function solvencyOf(row: SolvencyRow): Solvency {
  const supply = BigInt(row.supply)
  const liability = BigInt(row.liability)
  const mintsAhead = BigInt(row.mints_ahead)
  const mintsBehind = BigInt(row.mints_behind)
  return {
    blockNumber: row.block_number,
    supply,
    liability,
    mintsAhead,
    mintsBehind,
    drift: supply - (liability + mintsAhead - mintsBehind),
    checkedAt: row.checked_at,
  }
}
