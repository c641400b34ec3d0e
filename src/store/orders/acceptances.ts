import { sql } from 'kysely'

import type { Fees, Hex, Order } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { given, readAll } from '../database/rows.ts'
import { advancing, requireAdvanced, type LaneStep } from './lanes.ts'
import { ORDER } from './orders.ts'

export type NewOrder = Omit<
  Order,
  'id' | 'bundle' | 'state' | 'errorCode' | 'cancelCode' | 'updatedAt'
>

/** An order with the nonce that it got from its lane, and with what is signed for it. */
export type NewPayment = {
  order: NewOrder
  /** What it pays where it is a bundle; else none. */
  bundled: readonly NewOrder[]
  nonce: bigint
  fees: Fees
  /** In wei, what a rollup may charge on top of the gas. */
  rollupFee: bigint
  hash: Hex
  raw: Hex
}

/**
 * Takes the nonces from their lanes, and stores the orders with what is signed for them: all or
 * none, in the order given. It is one statement, since others wait for the lanes meanwhile. The
 * ids are drawn first, so that nothing is joined with what was stored. Where it rejects, the
 * transaction must not commit.
 */
export async function storePayments(
  db: Db,
  { payments, steps }: { payments: readonly NewPayment[]; steps: readonly LaneStep[] },
): Promise<Order[]> {
  const wanted = payments.map(newRow)
  const bundled = payments.flatMap(({ order: { subject }, bundled }) =>
    bundled.map((order) => ({ ...orderRow(order), bundle: subject })),
  )
  const orders = await readAll<Order & { advanced: Hex[] | undefined }>(db)`
    with advanced as (${advancing(steps)}),
    wanted as (
      select row.*, nextval('orders_id_seq') as id from ${given(wanted)`
        ${FIELDS}, nonce bigint, hash text, raw text, max_fee numeric, max_tip numeric,
        rollup_fee numeric
      `} as row
    ), stored as (
      insert into orders (id, ${COLUMNS}, updated_at) overriding system value
      select id, ${COLUMNS}, accepted_at from wanted
      returning *
    ), bundled as (
      insert into orders (${COLUMNS}, updated_at, bundle)
      select ${COLUMNS}, accepted_at, paid_by from (
        select row.*, wanted.id as paid_by
        from ${given(bundled)`${FIELDS}, bundle text`} as row
        join wanted on wanted.subject = row.bundle
      ) as row order by counter
    ), opened as (
      insert into lane_nonces (chain_id, signer, nonce, order_id)
      select chain_id, signer, nonce, id from wanted
    ), signed as (
      insert into attempts (chain_id, signer, nonce, order_id, kind, hash, raw, gas,
        max_fee_per_gas, max_priority_fee_per_gas, max_rollup_fee, signed_at)
      select chain_id, signer, nonce, id, 'payment', hash, raw, gas, max_fee, max_tip, rollup_fee,
        accepted_at
      from wanted
    )
    select ${ORDER.of('stored')}, (select array_agg(signer) from advanced) as advanced
    from stored order by stored.id`
  requireAdvanced(steps, orders[0]?.advanced ?? [])
  return orders.map((stored) => {
    const { advanced: _, ...order } = stored
    return order
  })
}

const FIELDS = sql`subject text, spender text, chain_id bigint, signer text, reference text,
  counter bigint, route text, contract text, token text, payee text, amount numeric, gas bigint,
  calldata text, accepted_at timestamptz`

const COLUMNS = sql`subject, spender, chain_id, signer, reference, counter, route, contract, token,
  payee, amount, gas, calldata, accepted_at`

function newRow({ order, nonce, fees, rollupFee, hash, raw }: NewPayment) {
  return {
    ...orderRow(order),
    nonce: String(nonce),
    hash,
    raw,
    max_fee: String(fees.maxFeePerGas),
    max_tip: String(fees.maxPriorityFeePerGas),
    rollup_fee: String(rollupFee),
  }
}

function orderRow(order: NewOrder) {
  return {
    subject: order.subject,
    spender: order.spender,
    chain_id: order.chainId,
    signer: order.signer,
    reference: order.reference,
    counter: String(order.counter),
    route: order.route,
    contract: order.contract ?? null,
    token: order.token ?? null,
    payee: order.payee,
    amount: String(order.amount),
    gas: String(order.gas),
    calldata: order.calldata ?? null,
    accepted_at: order.acceptedAt,
  }
}
