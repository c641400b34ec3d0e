import { checksummed } from '../../../../chain/hex.ts'
import { mayUse, type Caller } from '../../../../domain/access.ts'
import { dueOf, receivedDecimals, type Terms } from '../../../../domain/gateways.ts'
import {
  CURRENCY_DECIMALS,
  formatAmount,
  STABLECOIN_DECIMALS,
  type Currency,
  type Unit,
} from '../../../../domain/money.ts'
import type { Db } from '../../../../store/database/database.ts'
import { findCharge, type Charge } from '../../../../store/rails/charges.ts'
import type { ListedPayment } from '../../../../store/rails/checkouts.ts'
import { listDisputes } from '../../../../store/rails/disputes.ts'
import { listRefunds } from '../../../../store/rails/refunds.ts'
import { findTransaction, type Transaction } from '../../../../store/transactions/transactions.ts'
import { amountFields, decimalOf } from '../../../../wire/amounts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import type { ArrivalWire, ChargeBackWire } from '../../../../wire/group-b/charges.ts'

/** What has gone back of a payment, and what its payer disputes. */
export async function readChargeBack(
  db: Db,
  payment: Pick<Transaction, 'transactionId' | 'status' | 'amount'> & Unit,
): Promise<ChargeBackWire> {
  const { transactionId, status, amount, currency, tokenDecimals } = payment
  const unit = { currency, tokenDecimals }
  const disputes = await listDisputes(db, transactionId)
  const refunds = await listRefunds(db, transactionId)
  const completed = refunds
    .filter(({ state }) => state === 'completed')
    .reduce((sum, { amount }) => sum + amount, 0n)
  // A bank sends a payment back as a whole, without a refund of ours.
  const back = status === 'refunded' && refunds.length === 0 ? amount : completed
  return {
    refunded_decimal: decimalOf({ amount: back, ...unit }),
    refunds: refunds.map(({ refundId, state, errorCode, amount, payer, createdAt }) => ({
      refund_id: refundId,
      status: state,
      ...amountFields({ amount, ...unit }),
      payer: payer === undefined ? null : checksummed(payer),
      error_code: errorCode ?? null,
      created_at: createdAt.toISOString(),
    })),
    disputes: disputes.map((dispute) => ({
      dispute_id: dispute.disputeId,
      status: dispute.status ?? 'unknown',
      reason: dispute.reason ?? 'general',
      ...amountFields({ amount: dispute.amountMinor ?? amount, ...unit }),
      history: dispute.history.map(({ status, at }) => ({
        status,
        created_at: at.toISOString(),
      })),
    })),
  }
}

/** One settlement that named the reference of a checkout. */
export function toArrivalWire(arrival: ListedPayment): ArrivalWire {
  const { token, amount, verdict, blockNumber, coin } = arrival
  const decimals = token === undefined ? CURRENCY_DECIMALS.ETH : STABLECOIN_DECIMALS
  const isKnown = token === undefined || verdict !== 'wrong_token'
  return {
    eth_transaction_hash: arrival.transactionHash,
    log_index: arrival.logIndex,
    block_number: blockNumber,
    reference: arrival.reference,
    payer: checksummed(arrival.payer),
    token: token === undefined ? null : checksummed(token),
    amount_units: String(amount),
    amount_decimal: isKnown ? formatAmount({ amount, decimals }) : null,
    currency: token === undefined ? coin : isKnown ? 'USD' : null,
    verdict,
    paid_at: arrival.paidAt.toISOString(),
  }
}

/** What a crypto checkout received, next to what is due. Null at any other gateway. */
export function receivedFields(charge: Charge) {
  const { kind, received = 0n } = charge
  const decimals = receivedDecimals(charge)
  const shown = (amount: bigint) => formatAmount({ amount: amount > 0n ? amount : 0n, decimals })
  if (kind !== 'crypto_checkout') return { remaining_decimal: null, overpaid_decimal: null }
  const due = dueOf(charge)
  return { remaining_decimal: shown(due - received), overpaid_decimal: shown(received - due) }
}

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
  const message = `Send an amount from ${least} to ${most} ${currency}.`
  throw new RequestError('limit_exceeded', message, {
    problems: [{ field: 'amount', code: 'amount_out_of_range', message }],
  })
}

/** The caller's own, and to an administrator any. */
export async function requireChargeOf(
  db: Db,
  caller: Caller,
  transactionId: string,
): Promise<Charge> {
  if (!mayUse(caller, 'admin')) return requireOwn(db, caller.userId, transactionId)
  const charge = await findCharge(db, transactionId)
  if (charge === undefined) throw new RequestError('not_found', 'There is no payment of this id.')
  return charge
}

export async function requireOwn(db: Db, userId: number, transactionId: string): Promise<Charge> {
  const transaction = await findTransaction(db, { userId, transactionId })
  const charge = transaction && (await findCharge(db, transactionId))
  if (charge === undefined) throw new RequestError('not_found', 'You have no payment of this id.')
  return charge
}
