import { sql } from 'kysely'

import type { Hex } from '../../src/domain/orders.ts'
import type { Db } from '../../src/store/database.ts'

export type PaidOrders = {
  count: number
  chainId: number
  signer: Hex
  payee: Hex
  /** Undefined is a direct transfer. */
  contract?: Hex
  acceptedAt?: Date
  state?: 'completed' | 'failed' | 'mined'
  /** Whether the payment is final; else there is none. */
  isSettled?: boolean
}

/**
 * So many orders of five wei in one statement, numbered on from what is there, with references of
 * their number. What else stands behind an order is not stored.
 */
export async function storePaidOrders(db: Db, orders: PaidOrders): Promise<string[]> {
  const { count, chainId, signer, payee, contract = null, acceptedAt = new Date() } = orders
  const { state = 'completed', isSettled = true } = orders
  const route = contract === null ? 'direct' : 'contract'
  const errorCode = state === 'failed' ? 'reverted' : null
  return unchecked(db, async (open) => {
    const { rows } = await sql<{ subject: string }>`
      insert into orders (subject, spender, chain_id, signer, reference, counter, route, contract,
        payee, amount, gas, state, error_code, accepted_at, updated_at)
      select 'TX' || lpad(number::text, 20, '0'), 'user:1', ${chainId}, ${signer},
        '0x' || lpad(to_hex(number), 64, '0'), number, ${route}, ${contract}, ${payee}, 5, 21000,
        ${state}, ${errorCode}, ${acceptedAt}, ${acceptedAt}
      from (select count(*) as stored from orders) as before,
        generate_series(stored + 1, stored + ${count}) as number
      returning subject`.execute(open)
    const subjects = rows.map(({ subject }) => subject)
    if (!isSettled) return subjects
    await sql`
      insert into attempts (chain_id, signer, nonce, order_id, kind, hash, raw, gas,
        max_fee_per_gas, max_priority_fee_per_gas, state, block_number, block_hash, succeeded,
        gas_used, gas_price, signed_at)
      select chain_id, signer, counter, id, 'payment', reference, '0x02', 21000, 1, 1, 'final',
        counter, reference, true, 21000, 1, now()
      from orders where subject = any(${subjects})`.execute(open)
    return subjects
  })
}

/** Work that leaves rows without those that they refer to. */
export function unchecked<T>(db: Db, work: (open: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (open) => {
    await sql`set local session_replication_role = replica`.execute(open)
    return work(open)
  })
}
