import { sql } from 'kysely'

import type { Db } from '../database/database.ts'
import { readAll } from '../database/rows.ts'

export type SpendKey = {
  spender: string
  /** In UTC, as `2026-02-28`. */
  day: string
  /** Empty: whomever it goes to. */
  payee: string
}

export type Spend = SpendKey & { amount: bigint; limit: bigint }

/** What was spent already; nothing where there is no row. */
export async function readSpends(
  db: Db,
  keys: readonly SpendKey[],
): Promise<Array<SpendKey & { amount: bigint }>> {
  return readAll<SpendKey & { amount: bigint }>(db)`
    select spends.spender, spends.day, spends.payee, spends.amount from spends
    join jsonb_to_recordset(${JSON.stringify(keys)}::jsonb) as wanted (
      spender text, day date, payee text
    ) using (spender, day, payee)`
}

/**
 * Adds to what was spent, and tells which of them kept within their limit; the others changed
 * nothing. What fails later still counts for its day, since it might have been paid. A key may be
 * there once.
 */
export async function addSpends(db: Db, spends: readonly Spend[]): Promise<SpendKey[]> {
  const added: SpendKey[] = []
  for (const [limit, some] of Map.groupBy(spends, (spend) => spend.limit)) {
    added.push(...(await addWithin(db, limit, some)))
  }
  return added
}

/** The rows are locked in the order of their keys, so that no two wait for each other. */
async function addWithin(db: Db, limit: bigint, spends: readonly Spend[]): Promise<SpendKey[]> {
  const wanted = spends.map(({ spender, day, payee, amount }) => {
    return { spender, day, payee, amount: String(amount) }
  })
  const most = sql`${String(limit)}::numeric`
  const { rows } = await sql<SpendKey>`
    insert into spends (spender, day, payee, amount)
    select spender, day, payee, amount
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as row (
      spender text, day date, payee text, amount numeric
    )
    where amount <= ${most} order by spender, day, payee
    on conflict (spender, day, payee) do update set amount = spends.amount + excluded.amount
      where spends.amount + excluded.amount <= ${most}
    returning spender, day, payee`.execute(db)
  return rows
}
