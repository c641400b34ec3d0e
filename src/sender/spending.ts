import { isInEther } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { addSpends, readSpends, type Spend, type SpendKey } from '../store/orders/spends.ts'
import { limitsOf, type SenderContext } from './context.ts'
import type { PreparedOrder } from './prepare.ts'
import { refused, type OrderRefusedError } from './refused.ts'

/** What orders that are accepted together may spend. */
export type Spending = {
  /** Counts all of them, or throws where one would pass a limit; then none counts. */
  take: (payments: readonly Payment[]) => void
  /** Stores what was taken, or rejects where others have spent it meanwhile. */
  store: (db: Db) => Promise<void>
}

type Payment = Pick<PreparedOrder, 'spender' | 'route' | 'payee' | 'amount'>

/** What an order pays to whom: a bundle that of its payments. */
export function spentBy({ bundled, ...order }: PreparedOrder): Payment[] {
  if (bundled.length === 0) return [order]
  return bundled.map((payment) => ({ ...order, ...payment }))
}

/** Reads what was spent already. The limits themselves are held where it is stored. */
export async function openSpending(
  { policy, clock }: SenderContext,
  db: Db,
  payments: readonly Payment[],
): Promise<Spending> {
  const day = clock.now().toISOString().slice(0, 10)
  const countersOf = (payment: Payment): Counter[] => {
    const { spender, route, payee } = payment
    // What may be taken is counted by the payment that takes it.
    if (route === 'allowance') return []
    const { perDay, perPayeeAndDay, unit } = limitsOf(policy, route)
    // Ether, dollars that are paid and dollars that are minted are counted apart.
    const kind = isInEther(route) ? '' : route === 'mint' ? 'mint:' : 'token:'
    const key = { spender: `${kind}${spender}`, day }
    return [
      { key: { ...key, payee: '' }, limit: perDay, unit },
      { key: { ...key, payee }, limit: perPayeeAndDay, unit },
    ]
  }
  const keys = new Map(payments.flatMap(countersOf).map(({ key }) => [nameOf(key), key]))
  const spent = await readSpends(db, [...keys.values()])
  const before = new Map(spent.map((row) => [nameOf(row), row.amount]))
  const taken = new Map<string, Taken>()
  return {
    take(payments) {
      const more = new Map<string, Taken>()
      for (const payment of payments) {
        for (const counter of countersOf(payment)) {
          const name = nameOf(counter.key)
          const amount = (more.get(name) ?? taken.get(name))?.amount ?? 0n
          more.set(name, { ...counter, amount: amount + payment.amount })
        }
      }
      for (const [name, counter] of more) {
        if ((before.get(name) ?? 0n) + counter.amount > counter.limit) throw limitReached(counter)
      }
      for (const [name, counter] of more) taken.set(name, counter)
    },
    async store(db) {
      const spends = [...taken.values()].map(({ key, limit, amount }): Spend => {
        return { ...key, limit, amount }
      })
      const added = new Set((await addSpends(db, spends)).map(nameOf))
      for (const [name, counter] of taken) if (!added.has(name)) throw limitReached(counter)
    },
  }
}

type Counter = { key: SpendKey; limit: bigint; unit: string }
type Taken = Counter & { amount: bigint }

function nameOf({ spender, day, payee }: SpendKey): string {
  return JSON.stringify([spender, day, payee])
}

function limitReached({ key, limit, unit }: Counter): OrderRefusedError {
  return key.payee === ''
    ? refused(
        'limit_per_day',
        `At most ${limit} ${unit} may be sent in one day (UTC). Wait, or raise the limit.`,
      )
    : refused(
        'limit_per_payee',
        `At most ${limit} ${unit} may go to one payee in one day (UTC). Wait, or raise the limit.`,
      )
}
