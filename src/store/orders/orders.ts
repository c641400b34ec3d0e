import { sql } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import {
  bundlesAmong,
  ETHER_ROUTES,
  type Hex,
  type Order,
  type OrderState,
} from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'

export const ORDER = columnsOf<Order>()(`id, subject, spender, chain_id::float8, signer, reference,
  counter, route, contract, token, payee, amount, gas, bundle, calldata, state, error_code,
  refusal, cancel_code, accepted_at, updated_at`)

export async function findOrder(db: Db, id: bigint): Promise<Order | undefined> {
  return readOne<Order>(db)`select ${ORDER} from orders where id = ${id}`
}

export async function findOrderOf(db: Db, subject: string): Promise<Order | undefined> {
  return readOne<Order>(db)`
    select ${ORDER} from orders where subject = ${subject}`
}

export async function findOrders(db: Db, ids: readonly bigint[]): Promise<Order[]> {
  if (ids.length === 0) return []
  return readAll<Order>(db)`
    select ${ORDER} from orders where id = any(${ids.map(String)}::bigint[])`
}

/** What each of the bundles pays, in the order in which they were accepted. */
export async function findOrdersIn(db: Db, bundles: readonly bigint[]): Promise<Order[]> {
  if (bundles.length === 0) return []
  return readAll<Order>(db)`
    select ${ORDER} from orders where bundle = any(${bundles.map(String)}::bigint[]) order by id`
}

/** How many are on their way, and since when the oldest one is. */
export async function readOpenOrders(
  db: Db,
  chainId: number,
): Promise<{ count: number; since: Date | undefined }> {
  const { rows } = await sql<{ count: number; since: Date | null }>`
    select count(*)::integer as count, min(accepted_at) as since from orders
    where chain_id = ${chainId} and state in ('accepted', 'mined')`.execute(db)
  return { count: rows[0]?.count ?? 0, since: rows[0]?.since ?? undefined }
}

export type OrderStep = {
  id: bigint
  from: OrderState
  to: OrderState
  errorCode?: string
  refusal?: Hex | undefined
  now: Date
}

/** Rejects when the order is no longer in the state that the caller saw. */
export async function moveOrder(db: Db, move: OrderStep): Promise<Order> {
  const [moved] = await moveOrders(db, [move])
  if (!moved) throw orderMoved(move)
  return moved
}

/** All, in the order given, or none. */
export async function moveOrders(db: Db, moves: readonly OrderStep[]): Promise<Order[]> {
  const moved = new Map((await tryMoveOrders(db, moves)).map((order) => [order.id, order]))
  return moves.map((move) => {
    const order = moved.get(move.id)
    if (!order) throw orderMoved(move)
    return order
  })
}

/** Those that were moved; the others are in another state, and nothing changed for them. */
export async function tryMoveOrders(db: Db, moves: readonly OrderStep[]): Promise<Order[]> {
  const rowsOfMoves = moves.map(({ id, from, to, errorCode, refusal, now }) => ({
    order_id: String(id),
    from_state: from,
    to_state: to,
    code: errorCode ?? null,
    refused_by: refusal ?? null,
    at: now,
  }))
  return readAll<Order>(db)`
    update orders set state = to_state, error_code = code, refusal = refused_by, updated_at = at
    from ${given(rowsOfMoves)`
      order_id bigint, from_state text, to_state text, code text, refused_by text,
      at timestamptz
    `} as row
    where id = order_id and state = from_state
    returning ${ORDER}`
}

/** Brings what these bundles pay to where the bundles are, and returns it. */
export async function moveBundled(db: Db, bundles: readonly Order[]): Promise<Order[]> {
  const ids = bundlesAmong(bundles)
  if (ids.length === 0) return []
  return readAll<Order>(db)`
    update orders set state = bundle.state, error_code = bundle.error_code,
      updated_at = bundle.updated_at
    from (select id, state, error_code, updated_at from orders
      where id = any(${ids.map(String)}::bigint[])) as bundle
    where orders.bundle = bundle.id
    returning ${ORDER.of('orders')}`
}

/** False: the order is final, is being cancelled already, or goes with its bundle. */
export async function requestCancel(
  db: Db,
  cancel: { id: bigint; code: string; now: Date },
): Promise<boolean> {
  const { rows } = await sql`
    update orders set cancel_code = ${cancel.code}, updated_at = ${cancel.now}
    where id = ${cancel.id} and state in ('accepted', 'mined') and cancel_code is null
      and bundle is null
    returning 1`.execute(db)
  return rows.length === 1
}

export type LaneLoad = { open: number; owed: bigint }

/** What of each token each signer still owes for orders that are on their way. */
export async function readOwedTokens(
  db: Db,
  { chainId, signers }: { chainId: number; signers: readonly Hex[] },
): Promise<Array<{ signer: Hex; token: Hex; owed: bigint }>> {
  const { rows } = await sql<{ signer: Hex; token: Hex; owed: string }>`
    select signer, token, sum(amount)::text as owed from orders
    where chain_id = ${chainId} and state = 'accepted' and token is not null and bundle is null
      and signer = any(${signers}::text[])
    group by signer, token`.execute(db)
  return rows.map(({ owed, ...row }) => ({ ...row, owed: BigInt(owed) }))
}

/**
 * What each signer still owes: how many orders wait to be mined, their amounts and the most gas. A
 * signer without any has none.
 */
export async function readLaneLoads(
  db: Db,
  { chainId, signers }: { chainId: number; signers: readonly Hex[] },
): Promise<Map<Hex, LaneLoad>> {
  const { rows } = await sql<LaneLoad & { signer: Hex }>`
    select orders.signer, count(*)::integer as open, sum(
      case when route = any(${ETHER_ROUTES}) then amount else 0 end
        + newest.gas * newest.max_fee_per_gas + newest.max_rollup_fee
    ) as owed
    from orders
    cross join lateral (
      select gas, max_fee_per_gas, max_rollup_fee from attempts
      where attempts.order_id = orders.id order by attempts.id desc limit 1
    ) as newest
    where chain_id = ${chainId} and state = 'accepted' and bundle is null
      and signer = any(${signers}::text[])
    group by orders.signer`.execute(db)
  return new Map(rows.map(({ signer, ...load }) => [signer, load]))
}

function orderMoved(move: { id: bigint; from: OrderState; to: OrderState }): BaseError {
  return new BaseError(
    `The order ${move.id} is no longer ${move.from}, so it does not become ${move.to}. Look again.`,
    { code: 'order_moved', retryable: true, details: { ...move, id: String(move.id) } },
  )
}
