import type { Terms } from '../../../../domain/gateways.ts'
import { CURRENCY_DECIMALS, formatAmount, type Currency } from '../../../../domain/money.ts'
import { findCharge, type Charge } from '../../../../store/rails/charges.ts'
import type { Db } from '../../../../store/database/database.ts'
import { findTransaction } from '../../../../store/transactions/transactions.ts'
import { RequestError } from '../../../../wire/errors.ts'

/** Refuses an amount that the gateway or institution does not take. */
export function requireAmount(options: {
  amount: bigint
  currency: Currency
  limits: Terms
}): void {
  const { amount, currency, limits } = options
  const { min, max } = { min: limits.min[currency] ?? 1n, max: limits.max[currency] }
  if (amount >= min && (max === undefined || amount <= max)) return
  const decimals = CURRENCY_DECIMALS[currency]
  const [least, most] = [min, max ?? 0n].map((one) => formatAmount({ amount: one, decimals }))
  const message = `The amount must be from ${least} to ${most} ${currency} here.`
  throw new RequestError('limit_exceeded', message, {
    problems: [{ field: 'amount', code: 'amount_out_of_range', message }],
  })
}

export async function requireOwn(db: Db, userId: number, transactionId: string): Promise<Charge> {
  const transaction = await findTransaction(db, { userId, transactionId })
  const charge = transaction && (await findCharge(db, transactionId))
  if (charge === undefined) throw new RequestError('not_found', 'You have no payment of this id.')
  return charge
}
