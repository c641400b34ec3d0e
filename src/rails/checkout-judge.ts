import { CURRENCY_DECIMALS, STABLECOIN_DECIMALS } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Charge } from '../store/charges.ts'
import { sumCheckoutPayments, type Arrived } from '../store/checkouts.ts'
import type { Db } from '../store/database.ts'
import { applyView } from './charge-rail.ts'
import type { ChargeView } from './gateway.ts'

/** What is due, in the unit of what it is paid in: wei, or millionths of the dollar token. */
export function dueOf({ amount, currency }: Pick<Charge, 'amount' | 'currency'>): bigint {
  const more = currency === 'ETH' ? 0 : STABLECOIN_DECIMALS - CURRENCY_DECIMALS[currency]
  return amount * 10n ** BigInt(more)
}

/**
 * What the charge is paid in, the native coin where it names no token. Undefined where that cannot
 * be told: the program that made a charge in dollars knew a dollar token, and this one knows none.
 */
export function coinOf(
  { currency }: Pick<Charge, 'currency'>,
  { stablecoin }: { stablecoin: Hex | undefined },
): { token: Hex | undefined } | undefined {
  if (currency === 'ETH') return { token: undefined }
  return stablecoin && { token: stablecoin }
}

/** Moves a charge that the caller has locked to what all that has come for it makes of it. */
export async function judge(db: Db, charge: Charge): Promise<void> {
  await applyView(db, charge, viewOf(charge, await sumCheckoutPayments(db, charge.transactionId)))
}

/** What is neither the whole nor in time is left to people, with what is due and what has come. */
function viewOf(charge: Charge, { counted, late, hasOther }: Arrived): ChargeView {
  const { externalId, errorCode } = charge
  const view = (status: ChargeView['status'], gatewayStatus: string): ChargeView => ({
    status,
    gatewayStatus,
    externalId,
    received: counted + late,
  })
  const due = dueOf(charge)
  const isPaid = charge.status === 'completed' || charge.status === 'refunded'
  // What was accepted stays so, unless there is now too much.
  const paidAs = charge.gatewayStatus === 'RESOLVED' ? 'RESOLVED' : 'COMPLETED'
  if (isPaid) return view('completed', counted > due ? 'OVERPAID' : paidAs)
  // Nothing follows a charge that has expired or was refused, but what comes is shown.
  if (charge.status === 'failed') return { ...view('failed', 'DELAYED'), errorCode }
  if (late > 0n) return view('processing', 'DELAYED')
  if (hasOther && counted === 0n) return view('processing', 'WRONG_TOKEN')
  if (counted === due) return view('completed', 'COMPLETED')
  return view('processing', counted < due ? 'UNDERPAID' : 'OVERPAID')
}
