import type { Loop } from '../base/loop.ts'
import { isFinal, type TransactionStatus } from '../domain/states.ts'
import type { Db } from '../store/database/database.ts'
import { layAside } from '../store/database/leases.ts'
import { findCharge, learnCharge, leaseCharges, type Charge } from '../store/rails/charges.ts'
import { findStatus, moveTransaction } from '../store/transactions/transactions.ts'
import { adapterOf, lookAtDue, type ChargeRailDeps } from './charge-deps.ts'
import { disputePass } from './dispute-rail.ts'
import { createDueLoop } from './due-loop.ts'
import type { ChargeView } from './gateway.ts'
import { refundPass } from './refund-rail.ts'
import { codeFrom, RailError } from './reply.ts'

export type ChargeRail = Loop & {
  pass: (signal: AbortSignal) => Promise<void>
  /** Brings a charge to its gateway, unless it is there. Safe to repeat and to run concurrently. */
  open: (transactionId: string, signal: AbortSignal) => Promise<void>
}

/** Brings charges to their gateways, and follows them, their refunds and their disputes. */
export function createChargeRail(deps: ChargeRailDeps): ChargeRail {
  const pass = async (signal: AbortSignal): Promise<void> => {
    await chargePass(deps, signal)
    await refundPass(deps, signal)
    await disputePass(deps, signal)
  }
  const loop = createDueLoop(deps, { name: 'charges', tables: TABLES, pass })
  return { ...loop, pass, open: async (id, signal) => openCharge(deps, id, signal) }
}

const TABLES = ['charges', 'refunds', 'disputes'] as const
const MAX_ROUNDS = 1000

async function chargePass(deps: ChargeRailDeps, signal: AbortSignal): Promise<void> {
  let isMore = true
  for (let round = 0; isMore && round < MAX_ROUNDS && !signal.aborted; round++) {
    isMore = await lookAtDue(deps, signal, {
      what: 'charge',
      id: 'transactionId',
      lease: leaseCharges,
      look: async (charge) => applyView(deps.db, charge, await look(deps, charge, signal)),
      release: async (charge, { dueAt, trouble }, status = charge.status) => {
        const ageMs = deps.clock.now().getTime() - charge.createdAt.getTime()
        const isOver = isFinal(status) || status === 'completed' || ageMs > deps.policy.watchMs
        const next = { dueAt: isOver ? undefined : dueAt, trouble }
        await layAside(deps.db, { table: 'charges', key: charge.transactionId, ...charge }, next)
      },
    })
    deps.onProgress?.()
  }
}

async function openCharge(
  deps: ChargeRailDeps,
  transactionId: string,
  signal: AbortSignal,
): Promise<void> {
  const charge = await findCharge(deps.db, transactionId)
  if (charge === undefined || charge.externalId !== undefined || isFinal(charge.status)) return
  const view = await look(deps, charge, signal)
  await applyView(deps.db, charge, view)
}

/** What the gateway knows. A charge that it has not heard of is brought there. */
async function look(
  deps: ChargeRailDeps,
  charge: Charge,
  signal: AbortSignal,
): Promise<ChargeView> {
  const adapter = adapterOf(deps, charge)
  const { externalId } = charge
  if (externalId !== undefined) return adapter.read({ ...charge, externalId }, signal)
  try {
    return await adapter.create(charge, signal)
  } catch (error) {
    if (!(error instanceof RailError) || error.code !== 'rail_refused') throw error
    // Nothing is there that could be paid.
    const errorCode = codeFrom(error.reason, 'refused')
    return { status: 'failed', externalId: undefined, gatewayStatus: 'refused', errorCode }
  }
}

/** Keeps what is new and moves the transaction by legal steps, in one SQL transaction or yours. */
export async function applyView(
  db: Db,
  charge: Charge,
  view: ChargeView,
): Promise<TransactionStatus> {
  const { transactionId, kind } = charge
  return inTransaction(db, async (db) => {
    if (!(await learnCharge(db, transactionId, view))) {
      throw new RailError('rail_reply_wrong', 'external_id')
    }
    let from = (await findStatus(db, transactionId)) ?? charge.status
    const path = PATHS[from][view.status]
    if (path === undefined) throw new RailError('rail_reply_wrong', `went_${view.status}`)
    for (const to of path) {
      const reason = reasonOf(view, to)
      await moveTransaction(db, { transactionId, from, to, actor: `gateway:${kind}`, reason })
      from = to
    }
    return from
  })
}

async function inTransaction<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}

type Steps = readonly TransactionStatus[]

/** The legal steps to what a gateway says; none for what is older news. */
const PATHS: Record<TransactionStatus, Partial<Record<ChargeView['status'], Steps>>> = {
  pending: {
    pending: [],
    processing: ['processing'],
    completed: ['processing', 'completed'],
    failed: ['failed'],
  },
  processing: { pending: [], processing: [], completed: ['completed'], failed: ['failed'] },
  completed: { pending: [], processing: [], completed: [] },
  failed: { pending: [], processing: [], failed: [] },
  refunded: { pending: [], processing: [], completed: [] },
}

function reasonOf(view: ChargeView, to: TransactionStatus): string {
  const words = `the gateway says ${view.gatewayStatus ?? to}`
  return view.errorCode === undefined ? words : `${words}: ${view.errorCode}`
}
