import { CURRENCY_DECIMALS, formatAmount } from '../domain/money.ts'
import type { Db } from '../store/database/database.ts'
import { layAside } from '../store/database/leases.ts'
import { findCharge, type Charge } from '../store/rails/charges.ts'
import { leaseDisputes, listDisputes, moveDispute, type Dispute } from '../store/rails/disputes.ts'
import { notify } from '../store/webhooks/notifications.ts'
import { adapterOf, lookAtDue, type ChargeRailDeps } from './charge-deps.ts'
import type { DisputeView } from './gateway.ts'
import { RailError } from './reply.ts'

/** Asks the gateway how disputes stand, and tells their users of each change. */
export async function disputePass(deps: ChargeRailDeps, signal: AbortSignal): Promise<void> {
  await lookAtDue(deps, signal, {
    what: 'dispute',
    id: 'disputeId',
    lease: leaseDisputes,
    look: async (dispute) => {
      const { charge, view } = await look(deps, dispute, signal)
      await keep(deps, { charge, dispute, view })
      return view
    },
    release: async (dispute, { dueAt, trouble }, view) => {
      const next = { dueAt: view?.isClosed === true ? undefined : dueAt, trouble }
      await layAside(deps.db, { table: 'disputes', key: dispute.disputeId, ...dispute }, next)
    },
  })
}

async function look(
  deps: ChargeRailDeps,
  dispute: Dispute,
  signal: AbortSignal,
): Promise<{ charge: Charge; view: DisputeView }> {
  const charge = await findCharge(deps.db, dispute.transactionId)
  const readDispute = charge && adapterOf(deps, charge).readDispute
  const externalId = charge?.externalId
  if (charge === undefined || readDispute === undefined || externalId === undefined) {
    throw new RailError('rail_unauthorized', 'gateway_not_configured')
  }
  return { charge, view: await readDispute({ ...charge, externalId }, dispute.disputeId, signal) }
}

type DisputeLook = { charge: Charge; dispute: Dispute; view: DisputeView }

async function keep(deps: ChargeRailDeps, { charge, dispute, view }: DisputeLook): Promise<void> {
  const { disputeId } = dispute
  const now = deps.clock.now()
  await deps.db.transaction().execute(async (db) => {
    if (!(await moveDispute(db, { disputeId, ...view, now }))) return
    const body = await chargebackOf(db, { charge, disputeId })
    if (body) await notify(db, { userId: charge.userId, type: 'chargebacks', body })
  })
}

/** The chargeback that a subscription of Group A receives: whole, with its history. */
async function chargebackOf(
  db: Db,
  { charge, disputeId }: { charge: Charge; disputeId: string },
): Promise<Record<string, unknown> | undefined> {
  const all = await listDisputes(db, charge.transactionId)
  const dispute = all.find((one) => one.disputeId === disputeId)
  if (dispute === undefined) return undefined
  const decimals = CURRENCY_DECIMALS[charge.currency]
  const amount = formatAmount({ amount: dispute.amountMinor ?? 0n, decimals, minDecimals: 2 })
  return {
    id: disputeId,
    type: 'chargeback',
    paymentId: charge.transactionId,
    amount,
    currency: charge.currency,
    status: dispute.status,
    reason: dispute.reason,
    history: dispute.history.map(({ status, at }) => ({ status, createDate: at.toISOString() })),
    createDate: dispute.createdAt.toISOString(),
    updateDate: (dispute.history.at(-1)?.at ?? dispute.createdAt).toISOString(),
  }
}
