import { dueOf } from '../domain/gateways.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import type { Charge } from '../store/rails/charges.ts'
import { noteClosing } from '../store/rails/checkout-closings.ts'
import { sumCheckoutPayments, type Arrived } from '../store/rails/checkouts.ts'
import { applyView } from './charge-rail.ts'
import type { ChargeView } from './gateway.ts'

/**
 * What the charge is paid in: the native coin where it names no token. Undefined where a charge in
 * dollars was made by a program that had a dollar token, and this program has none.
 */
export function coinOf(
  { currency }: Pick<Charge, 'currency'>,
  { stablecoin }: { stablecoin: Hex | undefined },
): { token: Hex | undefined } | undefined {
  if (currency === 'ETH') return { token: undefined }
  return stablecoin && { token: stablecoin }
}

/** Moves a charge to the status that all its payments give it. The caller has locked it. */
export async function judge(db: Db, charge: Charge): Promise<void> {
  const { transactionId } = charge
  const view = viewOf(charge, await sumCheckoutPayments(db, transactionId))
  if (view.status === 'completed') await noteClosing(db, { transactionId, due: dueOf(charge) })
  await applyView(db, charge, view)
}

/**
 * Enough money in time completes the charge, from any payer; an excess is left for a refund. People
 * decide on short or late payments once the time has passed.
 */
function viewOf(charge: Charge, { counted, late }: Arrived): ChargeView {
  const { externalId, errorCode } = charge
  const received = counted + late
  const view = (status: ChargeView['status'], gatewayStatus: string): ChargeView => ({
    status,
    gatewayStatus,
    externalId,
    received,
  })
  const due = dueOf(charge)
  const isPaid = charge.status === 'completed' || charge.status === 'refunded'
  // What was accepted stays so, unless there is now too much.
  const paidAs = charge.gatewayStatus === 'RESOLVED' ? 'RESOLVED' : 'COMPLETED'
  if (isPaid) return view('completed', received > due ? 'OVERPAID' : paidAs)
  // Nothing follows a charge that has expired or was refused, but what comes is shown.
  if (charge.status === 'failed') return { ...view('failed', 'DELAYED'), errorCode }
  if (counted >= due) return view('completed', received > due ? 'OVERPAID' : 'COMPLETED')
  return view('processing', late > 0n ? 'DELAYED' : 'UNDERPAID')
}
