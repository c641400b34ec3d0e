import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import { codeOf, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { backoffMs, type Loop } from '../base/loop.ts'
import { isLegalMove, type TransactionStatus } from '../domain/states.ts'
import type { Db } from '../store/database/database.ts'
import {
  leaseWires,
  moveWire,
  releaseWires,
  type LeasedWire,
  type Wire,
  type WireProgress,
  type WireRelease,
  type WireState,
} from '../store/rails/wires.ts'
import { findStatus, moveTransaction } from '../store/transactions/transactions.ts'
import type { Bank, BankOrder, BankTransfer } from './bank.ts'
import { createDueLoop } from './due-loop.ts'
import { RailError } from './reply.ts'

/** Told in the SQL transaction that moves the wire: there are both or neither. */
export type OnWireMoved = (db: Db, moved: WireProgress) => Promise<void>

export type WirePolicy = {
  pollIntervalMs: number
  /** How soon a wire is looked at again; twice as long after each look in vain. */
  firstLookMs: number
  maxLookMs: number
  /** Of one that is paid, and may only come back. */
  maxPaidLookMs: number
  /** For how long after its payment a wire may still come back. */
  returnWindowMs: number
  leaseMs: number
}

export const WIRE_POLICY: WirePolicy = {
  pollIntervalMs: 1000,
  firstLookMs: 5000,
  maxLookMs: 3_600_000,
  maxPaidLookMs: 24 * 3_600_000,
  // Banks send credits back within two days; recalls by agreement take longer.
  returnWindowMs: 30 * 24 * 3_600_000,
  leaseMs: 60_000,
}

export type WireRail = Loop & { pass: (signal: AbortSignal) => Promise<void> }

/** Sends what was ordered, and follows it until nothing more can happen to it. */
export function createWireRail(deps: WireRailDeps): WireRail {
  const pass = async (signal: AbortSignal): Promise<void> => {
    for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round++) {
      const now = deps.clock.now()
      const until = new Date(now.getTime() + deps.policy.leaseMs)
      const leased = await leaseWires(deps.db, { now, until, limit: BATCH })
      const worked = await Promise.all(leased.map(async (wire) => workOn(deps, wire, signal)))
      const releases = worked.filter((release) => release !== undefined)
      if (releases.length > 0) await releaseWires(deps.db, releases)
      deps.onProgress?.()
      if (leased.length < BATCH) return
    }
  }
  const loop = createDueLoop(deps, { name: 'wires', tables: ['wires'], pass })
  return { ...loop, pass }
}

export type WireRailDeps = {
  db: Db
  /** By their names; undefined for the usual one. */
  banks: ReadonlyMap<string | undefined, Bank>
  clock: Clock
  logger: Logger
  policy: WirePolicy
  onMoved: OnWireMoved
  bell?: Bell
  onProgress?: (() => void) | undefined
}

const BATCH = 10
const MAX_ROUNDS = 1000

/** Undefined: the process stops, and the wire comes again when its lease is over. */
async function workOn(
  deps: WireRailDeps,
  wire: LeasedWire,
  signal: AbortSignal,
): Promise<WireRelease | undefined> {
  let state: WireState = wire.state
  let trouble: string | undefined
  try {
    const seen = await look(bankOf(deps, wire), wire, signal)
    const moves = pathOf(wire.state, seen.state)
    if (moves === undefined) trouble = `went_back_to_${seen.state}`
    for (const to of moves ?? []) {
      await move(deps, wire, { from: state, to, seen })
      state = to
    }
  } catch (error) {
    // A wire that fails waits for its next turn, and keeps no other from its own.
    if (signal.aborted) return undefined
    trouble = error instanceof RailError ? error.reason : (codeOf(error) ?? 'failed')
    const { purpose, subject, tries } = wire
    const told = { purpose, subject, tries, trouble, reason: messageOf(error) }
    deps.logger.warn(told, 'a wire waits for its next turn')
  }
  const dueAt = nextLook(deps, { ...wire, tries: state === wire.state ? wire.tries : 1 }, state)
  return { wire, dueAt, trouble: trouble?.slice(0, 64) }
}

/** The one that it was ordered from, since no other one knows whether it was sent. */
function bankOf({ banks }: WireRailDeps, wire: LeasedWire): Bank {
  const bank = banks.get(wire.bank)
  if (bank === undefined) throw new RailError('rail_unauthorized', 'bank_not_configured')
  return bank
}

/** What the bank knows of the wire. One that it has not heard of is sent. */
async function look(bank: Bank, wire: LeasedWire, signal: AbortSignal): Promise<BankTransfer> {
  const { bankId } = wire
  const order = orderOf(wire)
  if (bankId !== undefined) return bank.read({ ...order, bankId }, signal)
  // An earlier try may have got through without our hearing of it. A bank that refuses to be asked
  // has refused no wire.
  const found = wire.tries > 1 ? await bank.find(order, signal) : undefined
  if (found !== undefined) return found
  try {
    return await bank.send(order, signal)
  } catch (error) {
    if (!(error instanceof RailError) || error.code !== 'rail_refused') throw error
    return { bankId: '', state: 'rejected', code: error.reason }
  }
}

function orderOf({
  purpose,
  subject,
  method,
  amountMinor,
  currency,
  beneficiary,
}: Wire): BankOrder {
  // The same for the same wire forever, so that even a restored backup sends nothing twice.
  const key = `quittance-${purpose}-${subject}`
  return { key, subject, method, amountMinor, currency, beneficiary }
}

type Move = { from: WireState; to: Exclude<WireState, 'ordered'>; seen: BankTransfer }

async function move(deps: WireRailDeps, wire: LeasedWire, { from, to, seen }: Move): Promise<void> {
  const { reference } = seen
  const code = to === seen.state ? seen.code : undefined
  await deps.db.transaction().execute(async (db) => {
    const now = deps.clock.now()
    const bankId = seen.bankId === '' ? undefined : seen.bankId
    if (!(await moveWire(db, wire, { from, to, bankId, reference, code, now }))) {
      throw new RailError('rail_unknown', 'lease_lost')
    }
    const { purpose, subject } = wire
    await deps.onMoved(db, { purpose, subject, state: to, reference, code })
  })
}

/** The legal steps to what the bank says, each told on its own; undefined for a step back. */
function pathOf(
  from: WireState,
  to: BankTransfer['state'],
): ReadonlyArray<Exclude<WireState, 'ordered'>> | undefined {
  if (from === to) return []
  return PATHS[from][to]
}

type Paths = Partial<Record<BankTransfer['state'], ReadonlyArray<Exclude<WireState, 'ordered'>>>>

const PATHS: Record<WireState, Paths> = {
  ordered: {
    accepted: ['accepted'],
    paid: ['accepted', 'paid'],
    returned: ['accepted', 'returned'],
    rejected: ['rejected'],
  },
  accepted: { paid: ['paid'], returned: ['returned'], rejected: ['rejected'] },
  paid: { returned: ['returned'] },
  returned: {},
  rejected: {},
}

function nextLook(deps: WireRailDeps, wire: Wire, state: WireState): Date | undefined {
  const { firstLookMs, maxLookMs, maxPaidLookMs, returnWindowMs } = deps.policy
  const now = deps.clock.now().getTime()
  if (state === 'returned' || state === 'rejected') return undefined
  if (state === 'paid' && now - (wire.paidAt?.getTime() ?? now) > returnWindowMs) return undefined
  const maxMs = state === 'paid' ? maxPaidLookMs : maxLookMs
  return new Date(now + backoffMs({ tries: wire.tries, firstMs: firstLookMs, maxMs }))
}

/** Moves the transaction of a transfer as its wire moves. */
export const moveTransferByWire: OnWireMoved = async (db, moved) => {
  const transactionId = moved.subject
  const from = await findStatus(db, transactionId)
  if (from === undefined) return
  const to = statusFor(moved.state, from)
  if (!isLegalMove({ from, to })) return
  const actor = 'institution:bank'
  await moveTransaction(db, { transactionId, from, to, actor, reason: reasonOf(moved) })
}

function statusFor(state: WireProgress['state'], from: TransactionStatus): TransactionStatus {
  const statuses = {
    accepted: 'processing',
    paid: 'completed',
    rejected: 'failed',
    // Money that had arrived and comes back is refunded; money that never arrived has failed.
    returned: from === 'completed' ? 'refunded' : 'failed',
  } as const
  return statuses[state]
}

function reasonOf({ state, code }: WireProgress): string {
  const words = {
    accepted: 'the bank has it',
    paid: 'the bank has sent it',
    rejected: 'the bank refused it',
    returned: 'the other bank returned it',
  }[state]
  return code === undefined ? words : `${words}: ${code}`
}
