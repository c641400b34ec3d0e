import { sql } from 'kysely'

import type { Db } from './database.ts'

export type Spend = {
  spender: string
  /** In UTC, as `2026-02-28`. */
  day: string
  /** Empty: whomever it goes to. */
  payee: string
  amount: bigint
  limit: bigint
}

/**
 * Adds to what was spent and tells whether that kept within the limit; false changes nothing. What
 * fails later still counts for its day, since it might have been paid.
 */
export async function addSpend(db: Db, spend: Spend): Promise<boolean> {
  const amount = sql`${String(spend.amount)}::numeric`
  const limit = sql`${String(spend.limit)}::numeric`
  const { rows } = await sql`
    insert into spends (spender, day, payee, amount)
    select ${spend.spender}, ${spend.day}::date, ${spend.payee}, ${amount}
    where ${amount} <= ${limit}
    on conflict (spender, day, payee) do update set amount = spends.amount + excluded.amount
      where spends.amount + excluded.amount <= ${limit}
    returning 1`.execute(db)
  return rows.length === 1
}
