import { sql, type RawBuilder } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'

/** An address of ours and one coin; the empty token is the native one. */
export type Account = { chainId: number; address: Hex; token: Hex | '' }

/** What an account held at a block, and how many transactions its address had signed by then. */
export type Held = { blockNumber: bigint; nonce: bigint; balance: bigint }

/** An account, what was last explained of it, and what was seen since and is not. */
export type AccountBalance = Account & Held & { seen: (Held & { at: Date }) | undefined }

/** A change between two blocks that no record explains. */
export type BalanceGap = { breakId: string; account: Account; from: Held; to: Held; moved: bigint }

const BALANCE = columnsOf<AccountBalance>()(`chain_id::float8, address, token, block_number, nonce,
  balance, seen_block as seen.blockNumber, seen_nonce as seen.nonce, seen_balance as seen.balance,
  seen_at as seen.at`)

/** Accounts of users and of these addresses that no balance is known of yet. */
export async function listNewAccounts(
  db: Db,
  wanted: { chainId: number; own: readonly Hex[]; tokens: readonly Hex[]; limit: number },
): Promise<Account[]> {
  return readAll<Account>(db)`
    select ${wanted.chainId}::float8 as "chainId", one.address, coin.token from (
      select address from users where address is not null
      union select unnest(${wanted.own}::text[])
    ) one, unnest(${['', ...wanted.tokens]}::text[]) coin (token)
    where not exists (select from balances b where b.chain_id = ${wanted.chainId}
      and b.address = one.address and b.token = coin.token)
    order by one.address, coin.token limit ${wanted.limit}`
}

/** Writes nothing where the block is above what is known of arrivals, as after a reorg. */
export async function insertBalance(
  db: Db,
  { account, held, now, dueAt }: { account: Account; held: Held; now: Date; dueAt: Date },
): Promise<void> {
  const { chainId, address, token } = account
  const { blockNumber, nonce, balance } = held
  await sql`
    insert into balances (chain_id, address, token, block_number, nonce, balance, checked_at,
      due_at)
    select ${chainId}, ${address}, ${token}, ${blockNumber}, ${nonce},
      ${String(balance)}::numeric, ${now}::timestamptz, ${dueAt}::timestamptz
    where ${isRead({ chainId, blockNumber })}
    on conflict do nothing`.execute(db)
}

function isRead({ chainId, blockNumber }: { chainId: number; blockNumber: bigint }) {
  return sql`exists (select from deposit_cursors
    where chain_id = ${chainId} and block_number >= ${blockNumber})`
}

/** Accounts of these coins of which something is to be looked at, the longest waiting first. */
export async function listDueBalances(
  db: Db,
  due: { chainId: number; tokens: readonly Hex[]; now: Date; limit: number },
): Promise<AccountBalance[]> {
  return readAll<AccountBalance>(db)`
    select ${BALANCE} from balances
    where chain_id = ${due.chainId} and due_at <= ${due.now}
      and token = any(${['', ...due.tokens]}::text[])
    order by due_at limit ${due.limit}`
}

/**
 * Makes accounts due that money came to or that signed a transaction since the last time, each as
 * soon as it was left in peace for a while.
 */
export async function touchBalances(
  db: Db,
  { chainId, upTo, peaceMs }: { chainId: number; upTo: bigint; peaceMs: number },
): Promise<void> {
  await sql`
    with before as (
      select block_number from balance_cursors where chain_id = ${chainId} for update
    ), moved as (
      insert into balance_cursors (chain_id, block_number) values (${chainId}, ${upTo})
      on conflict (chain_id) do update set block_number = excluded.block_number
    ), span as (
      select block_number as after from before where block_number < ${upTo}
    ), touched as (
      select payee as address from deposits, span where chain_id = ${chainId}
        and block_number > after and block_number <= ${upTo}
      union select payee from own_arrivals, span where chain_id = ${chainId}
        and block_number > after and block_number <= ${upTo}
      union select signer from attempts, span where chain_id = ${chainId} and state = 'final'
        and block_number > after and block_number <= ${upTo}
    )
    update balances b set due_at = least(due_at, checked_at + ${peaceMs} * interval '1 ms')
    from touched where b.chain_id = ${chainId} and b.address = touched.address`.execute(db)
}

/**
 * What the records say that an account gained after one block and up to another: what came, less
 * what transactions of ours paid, and their fees. Below zero where it lost.
 */
export async function sumRecorded(
  db: Db,
  { account, from, to }: { account: Account; from: Held; to: Held },
): Promise<bigint> {
  const { chainId, address, token } = account
  const within = sql`block_number > ${from.blockNumber} and block_number <= ${to.blockNumber}`
  const came = (table: 'deposits' | 'own_arrivals') => sql`
    select amount from ${sql.table(table)} where chain_id = ${chainId} and payee = ${address}
      and coalesce(token, '') = ${token} and ${within}
      ${table === 'deposits' ? sql`and gone_at is null` : sql``}`
  // By its nonces an address's own attempts are found without an index for it.
  const signed = sql`a.chain_id = ${chainId} and a.signer = ${address}
    and a.nonce >= ${from.nonce} and a.nonce < ${to.nonce} and a.state = 'final' and ${within}`
  const { rows } = await sql<{ sum: string }>`
    select coalesce(sum(amount), 0)::text as sum from (
      ${came('deposits')}
      union all ${came('own_arrivals')}
      union all select -gas_used * gas_price from attempts a where ${signed} and ${token} = ''
      union all select -${paid()} from attempts a join orders o on o.id = a.order_id
        where ${signed} and a.kind = 'payment' and a.succeeded
          and case when ${token} = ''
            then o.route in ('direct', 'contract', 'bundle', 'open_bundle')
            else o.token = ${token} end
    ) moves`.execute(db)
  return BigInt(rows[0]!.sum)
}

/** What an open bundle could not pay came back in its own transaction. */
function paid(): RawBuilder<unknown> {
  return sql`case when o.route in ('open_bundle', 'open_token_bundle')
    then (select coalesce(sum(amount), 0) from orders where bundle = o.id and state = 'completed')
    else o.amount end`
}

/** Whether it is not known yet what took each nonce of the address below this one. */
export async function hasOpenNonce(
  db: Db,
  { chainId, address, below }: { chainId: number; address: Hex; below: bigint },
): Promise<boolean> {
  const { rows } = await sql`
    select from lane_nonces
    where chain_id = ${chainId} and signer = ${address} and nonce < ${below} and state = 'open'
    limit 1`.execute(db)
  return rows.length > 0
}

/**
 * Writes down how far an account is explained, and what was seen behind it. False where another
 * worker has done so since it was read, or the blocks were replaced.
 */
export async function moveBalance(
  db: Db,
  was: AccountBalance,
  to: { held: Held; seen: (Held & { at: Date }) | undefined; now: Date; dueAt: Date },
): Promise<boolean> {
  const { chainId, address, token } = was
  const { held, seen } = to
  const { blockNumber } = seen ?? held
  const { rows } = await sql`
    update balances set block_number = ${held.blockNumber}, nonce = ${held.nonce},
      balance = ${String(held.balance)}::numeric, seen_block = ${seen?.blockNumber ?? null},
      seen_nonce = ${seen?.nonce ?? null}, seen_at = ${seen?.at ?? null},
      seen_balance = ${seen === undefined ? null : String(seen.balance)}::numeric,
      checked_at = ${to.now}, due_at = ${to.dueAt}
    where chain_id = ${chainId} and address = ${address} and token = ${token}
      and block_number = ${was.blockNumber}
      and seen_block is not distinct from ${was.seen?.blockNumber ?? null}
      and ${isRead({ chainId, blockNumber })}
    returning 1`.execute(db)
  return rows.length > 0
}

/** Balances at blocks that are gone say nothing: these accounts begin anew. */
export async function forgetBalancesAbove(
  db: Db,
  { chainId, blockNumber }: { chainId: number; blockNumber: bigint },
): Promise<void> {
  await sql`
    delete from balances where chain_id = ${chainId}
      and greatest(block_number, seen_block) > ${blockNumber}`.execute(db)
  await sql`
    update balance_cursors set block_number = least(block_number, ${blockNumber})
    where chain_id = ${chainId}`.execute(db)
}

export async function insertGap(db: Db, gap: BalanceGap): Promise<void> {
  const { breakId, account, from, to, moved } = gap
  await sql`
    insert into balance_gaps (break_id, chain_id, address, token, from_block, from_nonce, to_block,
      to_nonce, moved)
    values (${breakId}, ${account.chainId}, ${account.address}, ${account.token},
      ${from.blockNumber}, ${from.nonce}, ${to.blockNumber}, ${to.nonce},
      ${String(moved)}::numeric)
    on conflict (break_id) do update set from_block = excluded.from_block,
      from_nonce = excluded.from_nonce, moved = excluded.moved`.execute(db)
}

type GapRow = Account & {
  breakId: string
  fromBlock: bigint
  fromNonce: bigint
  toBlock: bigint
  toNonce: bigint
  moved: bigint
}

const GAP = columnsOf<GapRow>()(`break_id, chain_id::float8, address, token, from_block, from_nonce,
  to_block, to_nonce, moved`)

/** Those whose break is open, in the order of their names. */
export async function listOpenGaps(
  db: Db,
  { chainId, after, limit }: { chainId: number; after: string; limit: number },
): Promise<BalanceGap[]> {
  const rows = await readAll<GapRow>(db)`
    select ${GAP.of('g')} from balance_gaps g join breaks b using (break_id)
    where g.chain_id = ${chainId} and b.state = 'open' and g.break_id > ${after}
    order by g.break_id limit ${limit}`
  return rows.map(({ breakId, chainId, address, token, moved, ...span }) => ({
    breakId,
    account: { chainId, address, token },
    from: { blockNumber: span.fromBlock, nonce: span.fromNonce, balance: 0n },
    to: { blockNumber: span.toBlock, nonce: span.toNonce, balance: moved },
    moved,
  }))
}
