import { CURRENCY_DECIMALS, STABLECOIN_DECIMALS } from '../domain/money.ts'
import { isInEther, type Order } from '../domain/orders.ts'
import { spendAmount, type Spent, type WayOut } from '../domain/spending.ts'
import type { Db } from '../store/database/database.ts'
import { openSpending, type Spending } from '../store/orders/spending.ts'
import type { SenderContext } from './context.ts'

type Payment = Pick<Order, 'spender' | 'route' | 'payee' | 'amount'> & { way: WayOut }

/** With what it pays where it is a bundle. */
type Bundle = Payment & { bundled: ReadonlyArray<Pick<Order, 'payee' | 'amount'>> }

/** What an order pays to whom, as it counts against the limits: a bundle that of its payments. */
export function spentBy({ bundled, ...order }: Bundle): Spent[] {
  // What may be taken is counted by the payment that takes it.
  if (order.route === 'allowance') return []
  if (bundled.length === 0) return [spentAs(order)]
  return bundled.map((payment) => spentAs({ ...order, ...payment }))
}

export function spentAs({ spender, way, route, payee, amount }: Payment): Spent {
  const [currency, decimals] = isInEther(route)
    ? (['ETH', CURRENCY_DECIMALS.ETH] as const)
    : (['USD', STABLECOIN_DECIMALS] as const)
  const counted = { payee: route === 'burn' ? undefined : payee }
  return { spender, way, currency, ...counted, amount: spendAmount({ amount, decimals }) }
}

/** What one payment like this may be; what the day allows is checked where it is accepted. */
export async function readLimitsOf(
  { clock }: Pick<SenderContext, 'clock'>,
  db: Db,
  payment: Payment,
): Promise<Pick<Spending, 'check'>> {
  const payments = [{ ...spentAs(payment), payee: undefined }]
  return openSpending(db, { payments, now: clock.now() })
}
