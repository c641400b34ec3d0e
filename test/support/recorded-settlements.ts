import { sql } from 'kysely'

import type { Db } from '../../src/store/database.ts'
import { makeUser } from './access.ts'
import { readSettled, type Settled, type SettledChain } from './settled-chain.ts'
import { CHAIN_ID } from './verify.ts'

/**
 * The rows that our own sender would have left for each settlement of the chain: order, nonce,
 * signed transaction and what became of it, and the transaction that a client sees.
 */
export async function recordSettlements(
  db: Db,
  world: SettledChain,
  onRecorded: (count: number) => void = () => undefined,
): Promise<number> {
  const { id: userId } = await makeUser(db)
  const signer = world.payer.toLowerCase()
  let count = 0
  await sql`
    insert into nonce_lanes (chain_id, signer, next_nonce)
    values (${CHAIN_ID}, ${signer}, 0)`.execute(db)
  let settled: Settled[] = []
  const insert = async (): Promise<void> => {
    await insertAll(db, { world, settled, userId, signer })
    count += settled.length
    settled = []
    onRecorded(count)
  }
  for await (const some of readSettled(world)) {
    settled.push(...some)
    if (settled.length >= ROWS_AT_ONCE) await insert()
  }
  await insert()
  await sql`select setval(pg_get_serial_sequence('orders', 'id'), ${count + 1})`.execute(db)
  await sql`update nonce_lanes set next_nonce = ${count}, next_counter = ${count}`.execute(db)
  return count
}

const ROWS_AT_ONCE = 2_000

async function insertAll(
  db: Db,
  of: { world: SettledChain; settled: readonly Settled[]; userId: number; signer: string },
): Promise<void> {
  const { world, settled, userId, signer } = of
  const rows = settled.map(({ reference, nonce, hash, raw, block, gas }) => ({
    reference,
    nonce,
    hash,
    raw,
    block_number: block.number,
    block_hash: block.hash,
    gas_used: Number(gas.used),
    gas_price: Number(gas.price),
  }))
  const rowsOf = sql`
    jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as row (reference text, nonce bigint,
      hash text, raw text, block_number bigint, block_hash text, gas_used bigint,
      gas_price bigint)`
  const subject = sql`'TX' || lpad(nonce::text, 20, '0')`
  await db.transaction().execute(async (open) => {
    // The rows follow from each other; to check each reference takes most of the time.
    await sql`set local session_replication_role = replica`.execute(open)
    await sql`
      insert into transactions (transaction_id, user_id, type, status, amount, currency,
        description, eth_transaction_hash, log_key)
      select ${subject}, ${userId}, 'settlement', 'completed', 0.000000000000000005, 'ETH',
        'one of many', hash, 0
      from ${rowsOf}`.execute(open)
    await sql`
      insert into orders (id, subject, spender, chain_id, signer, reference, counter, route,
        contract, payee, amount, gas, state, accepted_at, updated_at)
      overriding system value
      select nonce + 1, ${subject}, 'user:1', ${CHAIN_ID}, ${signer}, reference, nonce, 'contract',
        ${world.settlement}, ${world.payee.toLowerCase()}, 5, 100000, 'completed', now(), now()
      from ${rowsOf}`.execute(open)
    await sql`
      insert into lane_nonces (chain_id, signer, nonce, order_id, state, taken_by, taken_at_block)
      select ${CHAIN_ID}, ${signer}, nonce, nonce + 1, 'used', hash, block_number
      from ${rowsOf}`.execute(open)
    await sql`
      insert into attempts (chain_id, signer, nonce, order_id, kind, hash, raw, gas,
        max_fee_per_gas, max_priority_fee_per_gas, state, block_number, block_hash, succeeded,
        gas_used, gas_price, signed_at)
      select ${CHAIN_ID}, ${signer}, nonce, nonce + 1, 'payment', hash, raw, 100000, 10000000000,
        1, 'final', block_number, block_hash, true, gas_used, gas_price, now()
      from ${rowsOf}`.execute(open)
  })
}
