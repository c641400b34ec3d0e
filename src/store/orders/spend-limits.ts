import { sql } from 'kysely'

import { actorOf } from '../../domain/access.ts'
import {
  CURRENCIES_OUT,
  WAYS_OUT,
  type SpendLimit,
  type SpendLimits,
  type WayOut,
} from '../../domain/spending.ts'
import { isCurrency } from '../../domain/money.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'
import { dayOf } from './spending.ts'
import { readSpends, type Spend } from './spends.ts'

/** Undefined stays as it is; null is taken back, so that the limit of everybody counts again. */
export type LimitSetting = {
  /** Undefined: everybody. */
  userId: number | undefined
  way: WayOut
  currency: string
} & Partial<Record<SpendLimit, bigint | null | undefined>>

/** A change as it left the setting: what is undefined is not set there. */
export type LimitChange = SpendLimits & {
  id: bigint
  userId: number | undefined
  way: WayOut
  currency: string
  changedBy: string
  changedAt: Date
}

/** Stores it with its place in the history. It counts from the next payment on, everywhere. */
export async function setLimits(
  db: Db,
  { userId, way, currency, by, ...limits }: LimitSetting & { by: string },
): Promise<void> {
  const given = (limit: SpendLimit) => limits[limit] !== undefined
  const value = (limit: SpendLimit) => {
    const amount = limits[limit] ?? null
    return sql`${amount === null ? null : String(amount)}::numeric`
  }
  await sql`
    with changed as (
      insert into spend_limits as old (user_id, way, currency, per_transaction, per_day, per_payee)
      values (${userId ?? null}::integer, ${way}, ${currency}, ${value('perTransaction')},
        ${value('perDay')}, ${value('perPayee')})
      on conflict (spender, way, currency) do update set
        per_transaction = case when ${given('perTransaction')}::boolean
          then excluded.per_transaction else old.per_transaction end,
        per_day = case when ${given('perDay')}::boolean
          then excluded.per_day else old.per_day end,
        per_payee = case when ${given('perPayee')}::boolean
          then excluded.per_payee else old.per_payee end
      returning *
    )
    insert into spend_limit_changes
      (user_id, way, currency, per_transaction, per_day, per_payee, changed_by)
    select user_id, way, currency, per_transaction, per_day, per_payee, ${by} from changed
  `.execute(db)
}

/** What is in force in every way, for a user with what is used of it today, or for everybody. */
export async function readLimits(
  db: Db,
  { userId, now }: { userId: number | undefined; now: Date },
): Promise<Spend[]> {
  const spender = userId === undefined ? '' : actorOf({ userId })
  const { rows } = await sql<{ currency: string }>`
    select distinct currency from spend_limits where way = 'chain' order by currency`.execute(db)
  const others = rows.map(({ currency }) => currency).filter((one) => !isCurrency(one))
  const keys = WAYS_OUT.flatMap((way) =>
    [...CURRENCIES_OUT[way], ...(way === 'chain' ? others : [])].map((currency) => {
      return { spender, way, currency, day: dayOf(now), payee: '' }
    }),
  )
  const read = await readSpends(db, keys)
  return keys.flatMap(({ way, currency }) =>
    read.filter((one) => one.way === way && one.currency === currency),
  )
}

/** Newest first; those of one user, or all of them. */
export async function listLimitChanges(
  db: Db,
  wanted: { userId: number | undefined; before: bigint | undefined; limit: number },
): Promise<LimitChange[]> {
  const { userId, before, limit } = wanted
  return readAll<LimitChange>(db)`
    select ${CHANGE} from spend_limit_changes
    where (${userId ?? null}::integer is null or user_id = ${userId ?? null}::integer)
      and (${before ?? null}::bigint is null or id < ${before ?? null}::bigint)
    order by id desc limit ${limit}`
}

const CHANGE = columnsOf<LimitChange>()(`id, user_id, way, currency, per_transaction, per_day,
  per_payee, changed_by, changed_at`)
