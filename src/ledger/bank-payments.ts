import type { Payment } from '../domain/ledger.ts'
import { LEDGER_PER_CENT } from '../domain/money.ts'
import type { Db } from '../store/database/database.ts'
import { insertPayment, movePayment, type NewPayment } from '../store/ledger/bank-payments.ts'
import { post } from '../store/ledger/ledger.ts'
import { orderWire, type WireProgress } from '../store/rails/wires.ts'
import type { LedgerContext } from './context.ts'

/** Holds the money and orders the wire, or rejects with `insufficient_funds` and does neither. */
export async function createPayment(
  context: LedgerContext,
  db: Db,
  request: NewPayment,
): Promise<Payment> {
  const payment = await insertPayment(db, request)
  const { id, userId, walletId, amount, currency, destination } = payment
  const { name, addressLine1, accountNumber, routingNumber } = destination
  await post(db, {
    kind: 'hold',
    subject: id,
    from: { wallet: walletId },
    to: { heldOf: walletId },
    amount,
    currency,
  })
  await orderWire(db, {
    userId,
    purpose: 'payment',
    subject: id,
    bank: context.bank,
    amountMinor: amount / LEDGER_PER_CENT,
    currency,
    beneficiary: { name, addressLine1, accountNumber, routingNumber },
  })
  await context.tellOfPayment(db, payment)
  return payment
}

/** Moves the payment as its wire moved, in the same transaction. A known move does nothing. */
export async function movePaymentByWire(
  context: LedgerContext,
  db: Db,
  move: WireProgress,
): Promise<void> {
  const { subject: id, state, reference: trackingRef } = move
  switch (state) {
    case 'accepted': {
      const moved = await movePayment(db, { id, from: ['pending'], to: 'confirmed', trackingRef })
      if (moved) await context.tellOfPayment(db, moved)
      return
    }
    case 'paid': {
      const from = ['pending', 'confirmed'] as const
      const moved = await movePayment(db, { id, from, to: 'paid', trackingRef })
      if (!moved) return
      const held = { heldOf: moved.walletId }
      await post(db, { ...moved, kind: 'pay_out', subject: id, from: held, to: BANK })
      await context.tellOfPayment(db, moved)
      return
    }
    case 'returned':
    case 'rejected':
      await giveBack(context, db, move)
      return
    default:
      state satisfies never
  }
}

const BANK = { system: 'bank' } as const

/**
 * Returns the money to the wallet, once: from what is held, or from the bank where the wire was
 * paid already. A paid payment stays paid, and its error code shows that the money came back.
 */
async function giveBack(
  context: LedgerContext,
  db: Db,
  { subject: id, state, code }: WireProgress,
): Promise<void> {
  const errorCode = code ?? `payment_${state}`
  const failed = await movePayment(db, {
    id,
    from: ['pending', 'confirmed'],
    to: 'failed',
    errorCode,
  })
  if (failed) {
    const to = { wallet: failed.walletId }
    const from = { heldOf: failed.walletId }
    await post(db, { ...failed, kind: 'release', subject: id, from, to })
    await context.tellOfPayment(db, failed)
    return
  }
  const paid = await movePayment(db, { id, from: ['paid'], to: 'paid', errorCode })
  if (!paid) return
  const to = { wallet: paid.walletId }
  const isNew = await post(db, { ...paid, kind: 'return', subject: id, from: BANK, to })
  if (isNew) await context.tellOfPayment(db, paid)
}
