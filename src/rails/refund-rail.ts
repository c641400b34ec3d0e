import { dueOf, isDust, refundableOf } from '../domain/gateways.ts'
import type { Db } from '../store/database/database.ts'
import { findOrderOf } from '../store/orders/orders.ts'
import { findCharge, lockCharge, type Charge } from '../store/rails/charges.ts'
import { sumByPayer } from '../store/rails/checkouts.ts'
import {
  leaseRefunds,
  releaseRefund,
  settleRefund,
  sumRefunds,
  type Refund,
} from '../store/rails/refunds.ts'
import { moveTransaction, tellOfTransaction } from '../store/transactions/transactions.ts'
import { adapterOf, lookAtDue, type ChargeRailDeps } from './charge-deps.ts'
import type { RefundView } from './gateway.ts'
import { codeFrom, RailError } from './reply.ts'

/** Sends money back that was asked back, and follows it until it has arrived or cannot. */
export async function refundPass(deps: ChargeRailDeps, signal: AbortSignal): Promise<void> {
  await lookAtDue(deps, signal, {
    what: 'refund',
    id: 'refundId',
    lease: leaseRefunds,
    look: async (refund) => {
      const view = await look(deps, refund, signal)
      if (view.state !== 'pending') await settle(deps, refund, { ...view, state: view.state })
    },
    release: (refund, next) => releaseRefund(deps.db, refund, next),
  })
}

async function look(
  deps: ChargeRailDeps,
  refund: Refund,
  signal: AbortSignal,
): Promise<RefundView> {
  const charge = await findCharge(deps.db, refund.transactionId)
  if (charge?.kind === 'crypto_checkout') return lookOnChain(deps.db, refund)
  const externalId = charge?.externalId
  if (charge === undefined || externalId === undefined) {
    throw new RailError('rail_unauthorized', 'gateway_not_configured')
  }
  const adapter = adapterOf(deps, charge)
  try {
    return await adapter.refund({ ...charge, externalId }, refund, signal)
  } catch (error) {
    if (!(error instanceof RailError) || error.code !== 'rail_refused') throw error
    const errorCode = codeFrom(error.reason, 'refused')
    return { state: 'failed', externalId: undefined, errorCode }
  }
}

/** The sender pays it back by an order of its own, and alone says what became of that. */
async function lookOnChain(db: Db, { externalId = '' }: Refund): Promise<RefundView> {
  const order = await findOrderOf(db, externalId)
  if (order?.state === 'completed') return { state: 'completed', externalId, errorCode: undefined }
  if (order?.state !== 'failed') return { state: 'pending', externalId, errorCode: undefined }
  const { errorCode = 'not_paid' } = order
  // The money may be gone all the same: people look before it is paid another time.
  if (MAY_BE_PAID.has(errorCode)) throw new RailError('rail_unknown', errorCode)
  return { state: 'failed', externalId, errorCode }
}

const MAY_BE_PAID: ReadonlySet<string> = new Set([
  'nonce_taken_by_like_payment',
  'settlement_mismatch',
])

async function settle(
  deps: ChargeRailDeps,
  refund: Refund,
  view: RefundView & { state: 'completed' | 'failed' },
): Promise<void> {
  const { refundId, transactionId } = refund
  await deps.db.transaction().execute(async (db) => {
    // Of two refunds that end at one time, the second sees the first, and what arrived meanwhile.
    const charge = await lockCharge(db, transactionId)
    if (charge === undefined) return
    if (!(await settleRefund(db, { refundId, ...view })) || view.state === 'failed') return
    const { completed } = await sumRefunds(db, transactionId)
    const reason = `refund ${refundId} has arrived`
    // A partly refunded payment is still completed.
    if (completed < (await wholeOf(db, charge))) {
      await tellOfTransaction(db, { transactionId, type: 'transaction.partly_refunded', reason })
      return
    }
    await moveTransaction(db, {
      transactionId,
      from: 'completed',
      to: 'refunded',
      actor: 'gateway:refund',
      reason,
    })
  })
}

/** What has to be back. The dust of strangers among those who paid keeps nothing from being so. */
async function wholeOf(db: Db, charge: Charge): Promise<bigint> {
  if (charge.kind !== 'crypto_checkout') return refundableOf(charge)
  const { transactionId, received = 0n } = charge
  const due = dueOf(charge)
  const paid = [...(await sumByPayer(db, transactionId)).values()]
  const dust = paid
    .filter((amount) => isDust({ amount, due }))
    .reduce((sum, amount) => sum + amount, 0n)
  const isLittle = dust < received && isDust({ amount: dust, due })
  return refundableOf({ ...charge, received: isLittle ? received - dust : received })
}
