import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'

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

const PLACED_EVENT = columnsOf<PlacedEvent>()(
  'kind, amount, transfer_id, transaction_hash, block_number, block_hash',
)

/** What was read from blocks above that one, in their order. */
export async function listEventsAbove(
  db: Db,
  key: TokenKey,
  wanted: { blockNumber: bigint; limit: number },
): Promise<PlacedEvent[]> {
  return readAll<PlacedEvent>(db)`
    select ${PLACED_EVENT} from supply_events
    where chain_id = ${key.chainId} and token = ${key.token}
      and block_number > ${wanted.blockNumber}
    order by block_number limit ${wanted.limit}`
}

export type SupplyFindingRow = Omit<StoredSupplyEvent, 'finding'> & {
  finding: SupplyFinding
  readAt: Date
}

const FINDING = columnsOf<SupplyFindingRow>()(`chain_id::float8, token, kind, holder, memo, amount,
  transaction_hash, block_number, block_hash, transfer_id, finding, read_at`)

/** What did not fit, newest first. */
export async function listFindings(
  db: Db,
  wanted: { chainId: number; limit: number },
): Promise<SupplyFindingRow[]> {
  return readAll<SupplyFindingRow>(db)`
    select ${FINDING} from supply_events
    where finding is not null and chain_id = ${wanted.chainId}
    order by read_at desc, block_number desc limit ${wanted.limit}`
}

export async function countFindings(db: Db, chainId: number): Promise<Map<string, number>> {
  const { rows } = await sql<{ finding: string; count: bigint }>`
    select finding, count(*) from supply_events
    where finding is not null and chain_id = ${chainId} group by finding`.execute(db)
  return new Map(rows.map(({ finding, count }) => [finding, Number(count)]))
}

/** The chain's supply and the ledger's liability, as of one final block. */
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
 * Compares the supply at a final block with the ledger, in one statement, so that nothing moves
 * meanwhile. Mints that one side has and the other side is about to have are counted separately, so
 * that no tolerance is needed. Returns undefined and stores nothing where the ledger has events of
 * later blocks: a reader that stopped before it moved the cursor has read further than this one.
 * Events whose blocks are gone have breaks of their own and do not hold up the comparison.
 */
export async function storeSolvency(
  db: Db,
  key: TokenKey,
  seen: { blockNumber: bigint; supply: bigint; now: Date },
): Promise<Solvency | undefined> {
  const row = await readOne<Omit<Solvency, 'drift'>>(db)`
    insert into solvency (chain_id, token, block_number, supply, liability, mints_ahead,
      mints_behind, checked_at)
    select ${key.chainId}, ${key.token}, ${seen.blockNumber}, ${String(seen.supply)}::numeric,
      coalesce((
        select balance from accounts where kind = 'stablecoin' and chain_id = ${key.chainId}
      ), 0),
      coalesce((
        select sum(t.amount) from transfers t join supply_events e on e.transfer_id = t.id
        where t.kind in ('mint', 'withdrawal') and t.status in ('pending', 'running')
          and e.kind = 'mint' and e.chain_id = ${key.chainId} and e.token = ${key.token}
      ), 0),
      coalesce((
        select sum(amount) from transfers
        where kind in ('mint', 'withdrawal') and status = 'complete'
          and chain_id = ${key.chainId} and block_number > ${seen.blockNumber}
      ), 0),
      ${seen.now}
    where not exists (
      select 1 from supply_events e
      where e.chain_id = ${key.chainId} and e.token = ${key.token}
        and e.block_number > ${seen.blockNumber}
        and not exists (
          select 1 from breaks
          where kind = 'reorged' and chain_id = e.chain_id and hash = e.transaction_hash
        )
    )
    on conflict (chain_id, token) do update
      set block_number = excluded.block_number, supply = excluded.supply,
        liability = excluded.liability, mints_ahead = excluded.mints_ahead,
        mints_behind = excluded.mints_behind, checked_at = excluded.checked_at
    returning ${SOLVENCY}`
  return row && withDrift(row)
}

/**
 * What an issuer among others has out: what it minted, less what it burnt and less what holders
 * have redeemed and it still holds, as of the final blocks that were read.
 */
export async function readIssued(
  db: Db,
  key: TokenKey,
  { issuer, held }: { issuer: Hex; held: bigint },
): Promise<bigint> {
  const { rows } = await sql<{ minted: string; burnt: string; redeemed: string }>`
    select coalesce(sum(amount) filter (where kind = 'mint'), 0)::text as minted,
      coalesce(sum(amount) filter (where kind = 'burn' and holder = ${issuer}), 0)::text as burnt,
      coalesce(sum(amount) filter (
        where kind = 'burn' and holder <> ${issuer} and finding is null
      ), 0)::text as redeemed
    from supply_events where chain_id = ${key.chainId} and token = ${key.token}`.execute(db)
  const [minted, burnt, redeemed] = [rows[0]?.minted, rows[0]?.burnt, rows[0]?.redeemed].map(
    (sum) => BigInt(sum ?? 0),
  ) as [bigint, bigint, bigint]
  const unburnt = redeemed > burnt ? redeemed - burnt : 0n
  return minted - burnt - (unburnt < held ? unburnt : held)
}

export async function readSolvency(db: Db, key: TokenKey): Promise<Solvency | undefined> {
  const row = await readOne<Omit<Solvency, 'drift'>>(db)`
    select ${SOLVENCY} from solvency where chain_id = ${key.chainId} and token = ${key.token}`
  return row && withDrift(row)
}

const SOLVENCY = columnsOf<Omit<Solvency, 'drift'>>()(
  'block_number, supply, liability, mints_ahead, mints_behind, checked_at',
)

function withDrift(row: Omit<Solvency, 'drift'>): Solvency {
  const { supply, liability, mintsAhead, mintsBehind } = row
  return { ...row, drift: supply - (liability + mintsAhead - mintsBehind) }
}
