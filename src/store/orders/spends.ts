import { sql } from 'kysely'

import {
  defaultLimitsOf,
  type SpendKind,
  type SpendLimit,
  type SpendLimits,
} from '../../domain/spending.ts'
import type { Db } from '../database/database.ts'
import { given, readAll } from '../database/rows.ts'

export type SpendKey = SpendKind & {
  /** In UTC, as `2026-02-28`. */
  day: string
  /** Empty: whomever it goes to. */
  payee: string
}

/** What was spent already, and the limits that are in force. */
export type Spend = SpendKey & { amount: bigint; limits: SpendLimits }

/** What is to be added; the sum of the key is not to be more than `most`. */
export type NewSpend = SpendKey & { amount: bigint; most: bigint | undefined }

/** All in one statement, so that no payment costs one of its own to read its limits. */
export async function readSpends(db: Db, keys: readonly SpendKey[]): Promise<Spend[]> {
  const rows = await readAll<SpendKey & { amount: bigint } & Partial<Record<SpendLimit, bigint>>>(
    db,
  )`
    select wanted.*, coalesce(spends.amount, 0) as amount,
      coalesce(own.per_transaction, everybody.per_transaction) as "perTransaction",
      coalesce(own.per_day, everybody.per_day) as "perDay",
      coalesce(own.per_payee, everybody.per_payee) as "perPayee"
    from ${given(keys)`
      spender text, way text, currency text, day date, payee text
    `} as wanted
    left join spends using (spender, day, way, currency, payee)
    left join spend_limits own on own.spender = wanted.spender
      and own.way = wanted.way and own.currency = wanted.currency
    left join spend_limits everybody on everybody.spender = ''
      and everybody.way = wanted.way and everybody.currency = wanted.currency`
  return rows.map(({ perTransaction, perDay, perPayee, ...spend }) => {
    const usual = defaultLimitsOf(spend.currency)
    const limits = {
      perTransaction: perTransaction ?? usual.perTransaction,
      perDay: perDay ?? usual.perDay,
      perPayee: perPayee ?? usual.perPayee,
    }
    return { ...spend, limits }
  })
}

/**
 * Adds to what was spent, and returns the keys that stayed within their limit; the others are
 * unchanged. A payment that fails later still counts for its day, since it might have been paid.
 * Each key may occur once. The rows are locked in the order of their keys, to avoid deadlocks.
 */
export async function addSpends(db: Db, spends: readonly NewSpend[]): Promise<SpendKey[]> {
  const wanted = spends.map(({ spender, way, currency, day, payee, amount, most }) => {
    const numbers = { amount: String(amount), most: most === undefined ? null : String(most) }
    return { spender, way, currency, day, payee, ...numbers }
  })
  const { rows } = await sql<SpendKey>`
    insert into spends (spender, day, way, currency, payee, amount, most)
    select spender, day, way, currency, payee, amount, most
    from ${given(wanted)`
      spender text, day date, way text, currency text, payee text, amount numeric, most numeric
    `} as row
    where most is null or amount <= most order by spender, day, way, currency, payee
    on conflict (spender, day, way, currency, payee) do update
      set amount = spends.amount + excluded.amount, most = excluded.most
      where excluded.most is null or spends.amount + excluded.amount <= excluded.most
    returning spender, day, way, currency, payee`.execute(db)
  return rows
}
