import { sql, type RawBuilder } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given, readAll } from '../database/rows.ts'
import type { DepositCursor } from './deposits.ts'

/** An address of ours and one coin; the empty token is the native one. */
export type Account = { chainId: number; address: Hex; token: Hex | '' }

/** What an account held at a block. */
export type Held = { blockNumber: bigint; balance: bigint }

/** With how many transactions its address had signed by then. */
export type HeldAndSigned = Held & { nonce: bigint }

/**
 * An account, what was last explained of it, and what was seen since and is not. Its nonce is of
 * what is recorded: its address had signed so many transactions by then, or more.
 */
export type AccountBalance = Account &
  HeldAndSigned & { seen: (HeldAndSigned & { at: Date }) | undefined }

/** A change between two blocks that no record explains. */
export type BalanceGap = {
  breakId: string
  account: AccountBalance
  from: Held
  to: Held
  /** What its address had signed when it was found. */
  nonce: bigint
  moved: bigint
}

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

/** Writes nothing where final blocks were replaced since the cursor was read. */
export async function insertBalance(
  db: Db,
  {
    account,
    held,
    cursor,
    ...times
  }: { account: Account; held: Held; cursor: DepositCursor; now: Date; dueAt: Date },
): Promise<void> {
  const { chainId, address, token } = account
  const { blockNumber, balance } = held
  const at = { chainId: sql`${chainId}`, address: sql`${address}`, block: sql`${blockNumber}` }
  await sql`
    insert into balances (chain_id, address, token, block_number, nonce, balance, checked_at,
      due_at)
    select ${chainId}, ${address}, ${token}, ${blockNumber},
      ${signedBy(at)},
      ${String(balance)}::numeric, ${times.now}::timestamptz, ${times.dueAt}::timestamptz
    where ${isOfFork(chainId, cursor)}
    on conflict do nothing`.execute(db)
}

/** How many transactions the address had signed by a block, as far as that is recorded. */
function signedBy(of: {
  chainId: RawBuilder<unknown>
  address: RawBuilder<unknown>
  block: RawBuilder<unknown>
}): RawBuilder<unknown> {
  return sql`coalesce((
    select nonce + 1 from attempts a where a.chain_id = ${of.chainId} and signer = ${of.address}
      and state = 'final' and a.block_number <= ${of.block} order by nonce desc limit 1), 0)`
}

/** Locked, so that nobody goes back meanwhile. */
function isOfFork(chainId: number, { rewinds }: DepositCursor): RawBuilder<unknown> {
  return sql`exists (select from deposit_cursors
    where chain_id = ${chainId} and rewinds = ${rewinds} for share)`
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

/** What an account is compared with, and from where on. */
export type Looked = { account: AccountBalance; from: Held; to: Held }

/**
 * What the records say that each account gained after one block and up to another: what came, less
 * what transactions of ours paid, and their fees. Below zero where it lost.
 */
export async function sumRecorded(db: Db, looked: readonly Looked[]): Promise<bigint[]> {
  const sum = recordedIn({
    chainId: sql`span.chain_id`,
    address: sql`span.address`,
    token: sql`span.token`,
    from: { block: sql`span.from_block`, nonce: sql`span.from_nonce` },
    to: { block: sql`span.to_block`, nonce: sql`9223372036854775807` },
  })
  const spans = looked.map(({ account: { chainId, address, token, nonce }, from, to }) => {
    const [from_block, to_block] = [from.blockNumber, to.blockNumber].map(String)
    return { chain_id: chainId, address, token, from_nonce: String(nonce), from_block, to_block }
  })
  const { rows } = await sql<{ sum: string }>`
    select ${sum}::text as sum from rows from (
      jsonb_to_recordset(${JSON.stringify(spans)}::jsonb) as (
        chain_id bigint, address text, token text, from_nonce bigint, from_block bigint,
        to_block bigint
      )
    ) with ordinality as span (chain_id, address, token, from_nonce, from_block, to_block, place)
    order by place`.execute(db)
  return rows.map((row) => BigInt(row.sum))
}

type Edge = { block: RawBuilder<unknown>; nonce: RawBuilder<unknown> }

function recordedIn(span: {
  chainId: RawBuilder<unknown>
  address: RawBuilder<unknown>
  token: RawBuilder<unknown>
  from: Edge
  to: Edge
}): RawBuilder<unknown> {
  const { chainId, address, token, from, to } = span
  const within = sql`block_number > ${from.block} and block_number <= ${to.block}`
  const came = (table: 'deposits' | 'own_arrivals') => sql`
    select amount from ${sql.table(table)} where chain_id = ${chainId} and payee = ${address}
      and coalesce(token, '') = ${token} and ${within}
      ${table === 'deposits' ? sql`and gone_at is null` : sql``}`
  // By its nonces an address's own attempts are found without an index for their blocks.
  const signed = sql`a.chain_id = ${chainId} and a.signer = ${address}
    and a.nonce >= ${from.nonce} and a.nonce < ${to.nonce} and a.state = 'final' and ${within}`
  return sql`(
    select coalesce(sum(amount), 0) from (
      ${came('deposits')}
      union all ${came('own_arrivals')}
      union all select -(gas_used * gas_price + rollup_fee) from attempts a
        where ${signed} and ${token} = ''
      union all select -${paid()} from attempts a join orders o on o.id = a.order_id
        where ${signed} and a.kind = 'payment' and a.succeeded
          and case when ${token} = ''
            then o.route in ('direct', 'contract', 'bundle', 'open_bundle')
            else o.token = ${token} end
    ) moves
  )`
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
 * Writes down how far accounts are explained by the records, and that nothing was seen behind it.
 * Leaves those alone that another worker has moved since they were read, and all of them where the
 * blocks were replaced.
 */
export async function explainBalances(
  db: Db,
  explained: ReadonlyArray<{ account: AccountBalance; held: Held }>,
  { cursor, now, dueAt }: { cursor: DepositCursor; now: Date; dueAt: Date },
): Promise<void> {
  const [{ account: { chainId } } = { account: { chainId: 0 } }] = explained
  const wanted = explained.map(({ account, held }) => ({
    address: account.address,
    token: account.token,
    was_block: String(account.blockNumber),
    was_seen: account.seen === undefined ? null : String(account.seen.blockNumber),
    block: String(held.blockNumber),
    held: String(held.balance),
  }))
  const signed = signedBy({
    chainId: sql`b.chain_id`,
    address: sql`b.address`,
    block: sql`wanted.block`,
  })
  await sql`
    update balances b set block_number = block, nonce = greatest(nonce, ${signed}), balance = held,
      seen_block = null, seen_nonce = null, seen_at = null, seen_balance = null,
      checked_at = ${now}, due_at = ${dueAt}
    from ${given(wanted)`
      address text, token text, was_block bigint, was_seen bigint, block bigint, held numeric
    `} as wanted
    where b.chain_id = ${chainId} and b.address = wanted.address and b.token = wanted.token
      and b.block_number = was_block and b.seen_block is not distinct from was_seen
      and ${isOfFork(chainId, cursor)}`.execute(db)
}

/**
 * Writes down from where on an account is explained, and what was seen behind it. False where
 * another worker has done so since it was read, or the blocks were replaced.
 */
export async function moveBalance(
  db: Db,
  was: AccountBalance,
  to: {
    held: Held
    seen: (HeldAndSigned & { at: Date }) | undefined
    cursor: DepositCursor
    now: Date
    dueAt: Date
  },
): Promise<boolean> {
  const { chainId, address, token } = was
  const { held, seen } = to
  const { rows } = await sql`
    update balances set block_number = ${held.blockNumber},
      balance = ${String(held.balance)}::numeric, seen_block = ${seen?.blockNumber ?? null},
      seen_nonce = ${seen?.nonce ?? null}, seen_at = ${seen?.at ?? null},
      seen_balance = ${seen === undefined ? null : String(seen.balance)}::numeric,
      checked_at = ${to.now}, due_at = ${to.dueAt}
    where chain_id = ${chainId} and address = ${address} and token = ${token}
      and block_number = ${was.blockNumber}
      and seen_block is not distinct from ${was.seen?.blockNumber ?? null}
      and ${isOfFork(chainId, to.cursor)}
    returning 1`.execute(db)
  return rows.length > 0
}

/** So that one that cannot be read does not keep the others waiting. */
export async function putOffBalance(
  db: Db,
  { chainId, address, token }: Account,
  dueAt: Date,
): Promise<void> {
  await sql`
    update balances set due_at = ${dueAt}
    where chain_id = ${chainId} and address = ${address} and token = ${token}`.execute(db)
}

/** Balances at blocks that are gone say nothing: these accounts begin anew. */
export async function forgetBalances(
  db: Db,
  { chainId, above }: { chainId: number; above: bigint },
): Promise<void> {
  await sql`
    delete from balances where chain_id = ${chainId}
      and greatest(block_number, seen_block) > ${above}`.execute(db)
  await sql`
    update balance_cursors set block_number = least(block_number, ${above})
    where chain_id = ${chainId}`.execute(db)
}

export async function insertGap(db: Db, gap: BalanceGap): Promise<void> {
  const { breakId, account, from, to, nonce, moved } = gap
  await sql`
    insert into balance_gaps (break_id, chain_id, address, token, from_block, from_nonce, to_block,
      to_nonce, moved)
    values (${breakId}, ${account.chainId}, ${account.address}, ${account.token},
      ${from.blockNumber}, ${account.nonce}, ${to.blockNumber}, ${nonce},
      ${String(moved)}::numeric)
    on conflict (break_id) do update set from_block = excluded.from_block,
      from_nonce = excluded.from_nonce, moved = excluded.moved`.execute(db)
}

/** Those whose break is open, though what is recorded now is what has moved. */
export async function listExplainedGaps(
  db: Db,
  { chainId, limit }: { chainId: number; limit: number },
): Promise<string[]> {
  const recorded = recordedIn({
    chainId: sql`g.chain_id`,
    address: sql`g.address`,
    token: sql`g.token`,
    from: { block: sql`g.from_block`, nonce: sql`g.from_nonce` },
    to: { block: sql`g.to_block`, nonce: sql`g.to_nonce` },
  })
  const { rows } = await sql<{ breakId: string }>`
    select g.break_id as "breakId" from breaks b join balance_gaps g using (break_id)
    where b.chain_id = ${chainId} and b.state = 'open' and b.kind = 'unexplained_balance'
      and g.moved = ${recorded}
    limit ${limit}`.execute(db)
  return rows.map(({ breakId }) => breakId)
}
