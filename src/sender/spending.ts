import { COIN_DECIMALS } from '../domain/coins.ts'
import { STABLECOIN_DECIMALS } from '../domain/money.ts'
import { isInEther, type Order } from '../domain/orders.ts'
import { spendAmount, type Spent, type WayOut } from '../domain/spending.ts'
import type { Db } from '../store/database/database.ts'
import { openSpending, type Spending } from '../store/orders/spending.ts'
import type { SenderContext } from './context.ts'

type Payment = Pick<Order, 'spender' | 'route' | 'payee' | 'amount'> &
  Partial<Pick<Order, 'token'>> & { way: WayOut }

/** With what it pays where it is a bundle. */
type Bundle = Payment & { bundled: ReadonlyArray<Pick<Order, 'payee' | 'amount'>> }

type Known = Pick<SenderContext, 'coin' | 'tokens'>

/** What an order pays to whom, as it counts against the limits: a bundle that of its payments. */
export function spentBy(context: Known, { bundled, ...order }: Bundle): Spent[] {
  // What may be taken is counted by the payment that takes it.
  if (order.route === 'allowance') return []
  if (bundled.length === 0) return [spentAs(context, order)]
  return bundled.map((payment) => spentAs(context, { ...order, ...payment }))
}

export function spentAs(
  { coin = 'ETH', tokens }: Known,
  { spender, way, route, token, payee, amount }: Payment,
): Spent {
  const paid = tokens.find(({ address }) => address === token) ?? DOLLAR
  const { currency, decimals } = isInEther(route)
    ? { currency: coin, decimals: COIN_DECIMALS }
    : paid
  const counted = { payee: route === 'burn' ? undefined : payee }
  return { spender, way, currency, ...counted, amount: spendAmount({ amount, decimals }) }
}

const DOLLAR = { currency: 'USD', decimals: STABLECOIN_DECIMALS }

/** What one payment like this may be; what the day allows is checked where it is accepted. */
export async function readLimitsOf(
  context: Known & Pick<SenderContext, 'clock'>,
  db: Db,
  payment: Payment,
): Promise<Pick<Spending, 'check'>> {
  const payments = [{ ...spentAs(context, payment), payee: undefined }]
  return openSpending(db, { payments, now: context.clock.now() })
}
