import { refundableOf } from '../../../../domain/gateways.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../../../../domain/money.ts'
import type { Hex } from '../../../../domain/orders.ts'
import type { Charge } from '../../../../store/rails/charges.ts'
import { sumByPayer } from '../../../../store/rails/checkouts.ts'
import type { Db } from '../../../../store/database/database.ts'
import { sumPayerRefunds, type RefundSums } from '../../../../store/rails/refunds.ts'
import { readAmount } from '../../../../wire/amounts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import type { RefundCreate } from '../../../../wire/group-b/payments.ts'
import { invalidRequest } from '../../../admission/checks.ts'

/** Whose payment a refund sends back, and how much of it has not gone back yet. */
export type PayerLeft = { payer: Hex; left: bigint }

/**
 * The payer that the request names, or its `to_address` where that has paid. Undefined where it
 * names neither: then the refund is of the charge as a whole, and nobody is guessed at.
 */
export async function payerOf(
  db: Db,
  { charge, body }: { charge: Charge; body: RefundCreate | undefined },
): Promise<PayerLeft | undefined> {
  if (charge.kind !== 'crypto_checkout') return undefined
  const { transactionId } = charge
  const paid = await sumByPayer(db, transactionId)
  const [named, to] = [body?.payer, body?.to_address].map((text) => text?.toLowerCase() as Hex)
  if (named !== undefined && !paid.has(named)) {
    const message = 'This address has not paid. The arrivals of the payment name those who have.'
    throw invalidRequest([{ field: 'payer', code: 'unknown_payer', message }])
  }
  const payer = named ?? to
  const received = payer && paid.get(payer)
  if (payer === undefined || received === undefined) return undefined
  const taken = await sumPayerRefunds(db, { transactionId, payer })
  return { payer, left: refundableOf({ ...charge, received }) - taken }
}

/** How much goes back: what is asked for, or all that is left. */
export function requireRest(facts: {
  charge: Charge
  sums: RefundSums
  payer: PayerLeft | undefined
  body: RefundCreate | undefined
}): bigint {
  const { charge, sums, payer, body } = facts
  const { currency } = charge
  const whole = refundableOf(charge) - sums.taken
  const rest = payer !== undefined && payer.left < whole ? payer.left : whole
  const asked = body?.amount === undefined ? rest : readAmount({ amount: body.amount, currency })
  if (rest <= 0n) {
    const sentence =
      whole > 0n
        ? 'All that this payer has paid is being refunded. Read the status of the payment.'
        : 'The payment is being refunded. Read its status.'
    throw new RequestError('conflict', sentence)
  }
  if (sums.count >= MAX_REFUNDS) {
    const sentence = `There are ${MAX_REFUNDS} refunds of this payment, and no more are taken.`
    throw new RequestError('conflict', sentence)
  }
  if (asked <= rest) return asked
  const most = formatAmount({ amount: rest, decimals: CURRENCY_DECIMALS[currency] })
  const of = rest < whole ? 'what this payer has paid' : 'this payment'
  const message = `At most ${most} ${currency} of ${of} can still be refunded.`
  throw new RequestError('limit_exceeded', message, {
    problems: [{ field: 'amount', code: 'amount_out_of_range', message }],
  })
}

/** Failed ones are counted too. All of them are listed with the payment, and at its gateway. */
const MAX_REFUNDS = 50
