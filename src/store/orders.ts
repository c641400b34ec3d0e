import { sql } from 'kysely'

import { BaseError } from '../base/errors.ts'
import type { Hex, Order, OrderState, Route } from '../domain/orders.ts'
import type { Reference } from '../domain/reference.ts'
import type { Db } from './database.ts'

export type NewOrder = Omit<Order, 'id' | 'state' | 'errorCode' | 'cancelCode' | 'updatedAt'>

export async function insertOrder(db: Db, order: NewOrder): Promise<Order> {
  const { rows } = await sql<OrderRow>`
    insert into orders (subject, spender, chain_id, signer, reference, counter, route, contract,
      payee, amount, gas, accepted_at, updated_at)
    values (${order.subject}, ${order.spender}, ${order.chainId}, ${order.signer},
      ${order.reference}, ${order.counter}, ${order.route}, ${order.contract ?? null},
      ${order.payee}, ${String(order.amount)}::numeric, ${order.gas}, ${order.acceptedAt},
      ${order.acceptedAt})
    returning *`.execute(db)
  return onlyOrder(rows)
}

export async function findOrder(db: Db, id: bigint): Promise<Order | undefined> {
  const { rows } = await sql<OrderRow>`select * from orders where id = ${id}`.execute(db)
  return rows[0] && readOrder(rows[0])
}

export async function findOrderOf(db: Db, subject: string): Promise<Order | undefined> {
  const { rows } = await sql<OrderRow>`
    select * from orders where subject = ${subject}`.execute(db)
  return rows[0] && readOrder(rows[0])
}

/** Neither completed nor failed, the longest waiting first. */
export async function listOpenOrders(db: Db, chainId: number): Promise<Order[]> {
  const { rows } = await sql<OrderRow>`
    select * from orders where chain_id = ${chainId} and state in ('accepted', 'mined')
    order by accepted_at, id limit ${MAX_OPEN}`.execute(db)
  return rows.map(readOrder)
}

const MAX_OPEN = 10_000

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

type OrderStep = { id: bigint; from: OrderState; to: OrderState; errorCode?: string; now: Date }

/** Rejects when the order is no longer in the state that the caller saw. */
export async function moveOrder(db: Db, move: OrderStep): Promise<Order> {
  const moved = await tryMoveOrder(db, move)
  if (!moved) throw orderMoved(move)
  return moved
}

/** Undefined, and nothing changed, when the order is in another state. */
export async function tryMoveOrder(db: Db, move: OrderStep): Promise<Order | undefined> {
  const { rows } = await sql<OrderRow>`
    update orders set state = ${move.to}, error_code = ${move.errorCode ?? null},
      updated_at = ${move.now}
    where id = ${move.id} and state = ${move.from}
    returning *`.execute(db)
  return rows[0] && readOrder(rows[0])
}

/** False: the order is final, or is being cancelled already. */
export async function requestCancel(
  db: Db,
  cancel: { id: bigint; code: string; now: Date },
): Promise<boolean> {
  const { rows } = await sql`
    update orders set cancel_code = ${cancel.code}, updated_at = ${cancel.now}
    where id = ${cancel.id} and state in ('accepted', 'mined') and cancel_code is null
    returning 1`.execute(db)
  return rows.length === 1
}

/**
 * What is on the way of the signer: how many nonces are open, and what it still owes for them, the
 * amounts and the most gas.
 */
export async function readLaneLoad(
  db: Db,
  key: { chainId: number; signer: Hex },
): Promise<{ open: number; owed: bigint }> {
  const { rows } = await sql<{ open: number; owed: string }>`
    select count(*)::integer as open, coalesce(sum(
      case orders.route when 'mint' then 0 else orders.amount end
        + newest.gas * newest.max_fee_per_gas
    ), 0)::text as owed
    from lane_nonces
    left join orders on orders.id = lane_nonces.order_id and orders.state = 'accepted'
    left join lateral (
      select gas, max_fee_per_gas from attempts
      where attempts.chain_id = lane_nonces.chain_id and attempts.signer = lane_nonces.signer
        and attempts.nonce = lane_nonces.nonce
      order by attempts.id desc limit 1
    ) as newest on orders.id is not null
    where lane_nonces.chain_id = ${key.chainId} and lane_nonces.signer = ${key.signer}
      and lane_nonces.state = 'open'`.execute(db)
  const [row] = rows
  return { open: row?.open ?? 0, owed: BigInt(row?.owed ?? 0) }
}

type OrderRow = {
  id: bigint
  subject: string
  spender: string
  chain_id: bigint
  signer: Hex
  reference: Reference
  counter: bigint
  route: Route
  contract: Hex | null
  payee: Hex
  amount: string
  gas: bigint
  state: OrderState
  error_code: string | null
  cancel_code: string | null
  accepted_at: Date
  updated_at: Date
}

function onlyOrder(rows: OrderRow[]): Order {
  const [row] = rows
  if (!row) throw new BaseError('The order was not stored.', { code: 'order_not_stored' })
  return readOrder(row)
}

function readOrder(row: OrderRow): Order {
  return {
    id: row.id,
    subject: row.subject,
    spender: row.spender,
    chainId: Number(row.chain_id),
    signer: row.signer,
    reference: row.reference,
    counter: row.counter,
    route: row.route,
    contract: row.contract ?? undefined,
    payee: row.payee,
    amount: BigInt(row.amount),
    gas: row.gas,
    state: row.state,
    errorCode: row.error_code ?? undefined,
    cancelCode: row.cancel_code ?? undefined,
    acceptedAt: row.accepted_at,
    updatedAt: row.updated_at,
  }
}

function orderMoved(move: { id: bigint; from: OrderState; to: OrderState }): BaseError {
  return new BaseError(
    `The order ${move.id} is no longer ${move.from}, so it does not become ${move.to}. Look again.`,
    { code: 'order_moved', retryable: true, details: { ...move, id: String(move.id) } },
  )
}
