import {
  LimitReachedError,
  type SpendLimit,
  type SpendLimits,
  type Spent,
} from '../../domain/spending.ts'
import type { Db } from '../database/database.ts'
import { addSpends, readSpends, type SpendKey } from './spends.ts'

/** What payments that are accepted together may spend. */
export type Spending = {
  /** Throws where one is more than one payment may be. */
  check: (payment: Spent) => void
  /** Counts all of them, or throws where one would pass a limit; then none counts. */
  take: (payments: readonly Spent[]) => void
  /** Stores what was taken, or rejects where others have spent it meanwhile. */
  store: (db: Db) => Promise<void>
}

/**
 * Reads limits and what was spent already. The limits themselves are held where it is stored: in
 * the transaction that accepts the payments.
 */
export async function openSpending(
  db: Db,
  { payments, now }: { payments: readonly Spent[]; now: Date },
): Promise<Spending> {
  const day = dayOf(now)
  const keys = new Map(
    payments.flatMap((payment) => keysOf(payment, day)).map((key) => [nameOf(key), key]),
  )
  const read = await readSpends(db, [...keys.values()])
  const before = new Map(read.map((row) => [nameOf(row), row]))
  const taken = new Map<string, Counter>()
  const usedOf = (name: string): bigint => before.get(name)?.amount ?? 0n
  const check = (payment: Spent): void => {
    const [key] = keysOf(payment, day)
    const most = before.get(nameOf(key))?.limits.perTransaction
    const { amount } = payment
    if (most === undefined || amount <= most) return
    throw new LimitReachedError({ kind: key, limit: 'perTransaction', most, used: 0n, amount })
  }
  return {
    check,
    take(payments) {
      const more = new Map<string, Counter>()
      for (const payment of payments) {
        check(payment)
        for (const key of keysOf(payment, day)) {
          const name = nameOf(key)
          const { amount } = more.get(name) ?? { amount: 0n }
          const most = before.get(name)?.limits[limitOf(key)]
          more.set(name, { key, most, amount: amount + payment.amount })
        }
      }
      for (const [name, { key, most, amount }] of more) {
        const used = usedOf(name) + (taken.get(name)?.amount ?? 0n)
        if (most !== undefined && used + amount > most) throw reached({ key, most, amount }, used)
      }
      for (const [name, counter] of more) {
        const { amount } = taken.get(name) ?? { amount: 0n }
        taken.set(name, { ...counter, amount: amount + counter.amount })
      }
    },
    async store(db) {
      const spends = [...taken.values()].map(({ key, ...counted }) => ({ ...key, ...counted }))
      const added = new Set((await addSpends(db, spends)).map(nameOf))
      for (const [name, { key, most, amount }] of taken) {
        if (added.has(name) || most === undefined) continue
        const [now] = await readSpends(db, [key])
        throw reached({ key, most, amount }, now?.amount ?? 0n)
      }
    },
  }
}

/** Counts one payment in the open transaction that accepts it, or rejects with nothing stored. */
export async function spend(db: Db, { now, ...payment }: Spent & { now: Date }): Promise<void> {
  const spending = await openSpending(db, { payments: [payment], now })
  spending.take([payment])
  await spending.store(db)
}

export function dayOf(now: Date): string {
  return now.toISOString().slice(0, 10)
}

/** How much of one key; undefined: there is no limit. */
type Counter = { key: SpendKey; most: SpendLimits[SpendLimit]; amount: bigint }

/** All of the day, and what of it goes to the payee. */
function keysOf({ spender, way, currency, payee }: Spent, day: string): [SpendKey, ...SpendKey[]] {
  const key = { spender, way, currency, day, payee: '' }
  return payee === undefined ? [key] : [key, { ...key, payee }]
}

function nameOf({ spender, day, way, currency, payee }: SpendKey): string {
  return JSON.stringify([spender, day, way, currency, payee])
}

function limitOf({ payee }: SpendKey): 'perDay' | 'perPayee' {
  return payee === '' ? 'perDay' : 'perPayee'
}

function reached(
  { key, most, amount }: Counter & { most: bigint },
  used: bigint,
): LimitReachedError {
  return new LimitReachedError({ kind: key, limit: limitOf(key), most, used, amount })
}
