import { sql } from 'kysely'

import type { Db } from '../../src/store/database.ts'
import { recountTallies } from '../../src/store/tallies.ts'

/** Rows of one user that have run their course, a second apart; their ids, newest first. */
export async function insertManyTransactions(
  db: Db,
  wanted: { userId: number; count: number },
): Promise<string[]> {
  const { userId, count } = wanted
  await sql`
    insert into transactions (transaction_id, user_id, type, status, amount, currency, description,
      created_at, updated_at, log_key)
    select 'TX' || lpad(n::text, 20, '0'), ${userId},
      (array['payment', 'transfer', 'deposit', 'withdrawal', 'settlement'])[1 + n % 5],
      case when n % 50 = 1 then 'failed' else 'completed' end,
      n + 0.25, 'USD', 'row ' || n || ' of many', at, at, 0
    from generate_series(1, ${count}::bigint) n
    cross join lateral (
      select '2025-01-01'::timestamptz + n * interval '1 second' as at
    ) as time`.execute(db)
  await sql`
    insert into transaction_moves (internal_id, user_id, to_status, actor, reason, log_key)
    select id, user_id, 'pending', 'test', 'one of many', 0
    from transactions where user_id = ${userId}`.execute(db)
  await recountTallies(db, { userId })
  return Array.from({ length: count }, (_, place) => `TX${String(count - place).padStart(20, '0')}`)
}
