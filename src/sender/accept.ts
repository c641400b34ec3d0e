import { ImpossibleError, type Result } from '../base/errors.ts'
import {
  isBundle,
  ROUTES_IN,
  weiOf,
  type HashedOrder,
  type Hex,
  type Order,
} from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { needTogether } from '../store/database/transact.ts'
import { storePayments, type NewOrder, type NewPayment } from '../store/orders/acceptances.ts'
import { listAttemptsOf } from '../store/orders/attempts.ts'
import { lockFreeLanes, noLane, type LaneStep } from '../store/orders/lanes.ts'
import { findOrderOf, readLaneLoads, readOwedTokens } from '../store/orders/orders.ts'
import { readPermits, type PermitPlace } from '../store/orders/permits.ts'
import { openSpending, type Spending } from '../store/orders/spending.ts'
import type { SenderContext, SenderPolicy } from './context.ts'
import type { PreparedOrder } from './prepare.ts'
import { insufficientFunds, isRefusal, OrderRefusedError, type Refusal } from './refused.ts'
import { bundleCalldata, paymentCall, permitCall, signChecked, type Signed } from './sign.ts'
import { spentBy } from './spending.ts'

/**
 * Accepts new orders in the caller's `transact`: locks their lanes, takes a nonce for each, signs,
 * and stores the raw transactions. Nothing was sent when it commits, and nothing is there
 * when it does not. An order that is refused leaves nothing behind and stops no other one; where
 * this rejects, as of an order that is not new, the transaction must not commit.
 */
export async function acceptNewOrders(
  context: SenderContext,
  db: Db,
  prepared: readonly PreparedOrder[],
): Promise<Result<HashedOrder>[]> {
  return acceptIn(context, db, { prepared, ...(await openFor(context, db, prepared)) })
}

/** One order, which may have been accepted before; rejects where it is refused. */
export async function acceptOrder(
  context: SenderContext,
  db: Db,
  prepared: PreparedOrder,
): Promise<HashedOrder> {
  const opened = await openFor(context, db, [prepared])
  // Its lane is locked: if another caller accepted it meanwhile, that is done.
  const earlier = await findOrderOf(db, prepared.subject)
  if (earlier !== undefined) return acceptedBefore(db, earlier)
  const [acceptance] = await acceptIn(context, db, { prepared: [prepared], ...opened })
  if (acceptance?.ok !== true) throw acceptance?.error
  return acceptance.value
}

type Opened = Lanes & { spending: Spending }

async function openFor(
  context: SenderContext,
  db: Db,
  prepared: readonly PreparedOrder[],
): Promise<Opened> {
  // The limits are held where it is stored, so what was spent before is read while nobody waits.
  const spending = await openSpending(db, {
    payments: prepared.flatMap(allOf).flatMap((one) => spentBy(context, one)),
    now: context.clock.now(),
  })
  return { spending, ...(await openLanes(context, db, prepared)) }
}

async function acceptIn(
  context: SenderContext,
  db: Db,
  { prepared, spending, admit, steps }: Opened & { prepared: readonly PreparedOrder[] },
): Promise<Result<HashedOrder>[]> {
  const decided = prepared.map((one) => triedTo(() => admit(one, spending)))
  const admitted = decided.flatMap((one) => (isRefusal(one) ? [] : one))
  const accepted = new Map<string, HashedOrder>()
  if (admitted.length > 0) {
    for (const one of await storeAdmitted(context, db, { admitted, steps: steps() })) {
      accepted.set(one.order.subject, one)
    }
    await spending.store(db)
  }
  return prepared.map(({ subject }, place): Result<HashedOrder> => {
    const refusal = decided[place]
    if (isRefusal(refusal)) return { ok: false, error: refusal }
    const value = accepted.get(subject)
    if (value === undefined) throw new ImpossibleError('what was admitted is stored')
    return { ok: true, value }
  })
}

/** It, and what is accepted with it, in the order of their nonces. */
function allOf(order: PreparedOrder): PreparedOrder[] {
  return [...order.before, order]
}

/** What an order gets from its lane. What it bundles has the counters behind its own. */
type Admitted = { prepared: PreparedOrder; nonce: bigint; counter: bigint }

type Lanes = {
  /**
   * Hands the order its nonce, and what is accepted with it the ones before; or throws the reason
   * why it is refused, and none counts.
   */
  admit: (prepared: PreparedOrder, spending: Spending) => Admitted[]
  /** How far each lane has to advance for those that were admitted. */
  steps: () => LaneStep[]
}

/** Locks the lanes that are free, and reads what is on the way in them. */
async function openLanes(
  context: SenderContext,
  db: Db,
  prepared: readonly PreparedOrder[],
): Promise<Lanes> {
  const { chainId, policy } = context
  const key = { chainId, signers: [...new Set(prepared.map(({ signer }) => signer))] }
  const locked = await lockFreeLanes(db, key)
  const loads = await readLaneLoads(db, key)
  const paysTokens = prepared.some(({ token }) => token !== undefined)
  const owedTokens = paysTokens ? await readOwedTokens(db, key) : []
  const hasPermits = prepared.some(({ permit }) => permit !== undefined)
  const permits = hasPermits ? await readPermits(db, key) : new Map<Hex, PermitPlace>()
  const lanes = new Map(
    locked.map((lane): [Hex, OpenLane] => {
      const { open, owed } = loads.get(lane.signer) ?? { open: 0, owed: 0n }
      const ofLane = owedTokens.filter(({ signer }) => signer === lane.signer)
      const tokens = new Map(ofLane.map(({ token, owed }) => [token, owed]))
      const allowed = permits.get(lane.signer) ?? { last: 0n, open: [] }
      return [lane.signer, { lane, next: { ...lane }, open, owed, tokens, allowed }]
    }),
  )
  return {
    admit(order, spending) {
      const { signer } = order
      const one = lanes.get(signer)
      if (one === undefined)
        throw locked.length > 0 ? laneBusy(signer) : noLane({ chainId, signer })
      const orders = allOf(isPermitted(order, one) ? order : byAllowance(order))
      const after = { ...one, tokens: new Map(one.tokens) }
      const admitted = orders.map((each) => admitTo(after, each, policy))
      spending.take(orders.flatMap((one) => spentBy(context, one)))
      lanes.set(signer, after)
      context.counters?.set(signer, after.next.nextCounter)
      return admitted
    },
    steps: () =>
      [...lanes.values()].filter(({ lane, next }) => next.nextCounter > lane.nextCounter),
  }
}

/** A lane that is locked: what it had, what it hands out next, and what its signer owes by then. */
type OpenLane = {
  lane: LaneStep['lane']
  next: LaneStep['next']
  open: number
  owed: bigint
  tokens: Map<Hex, bigint>
  /** The permits and allowances of its signer. */
  allowed: PermitPlace
}

/**
 * The same payment by an allowance, where the permit can no longer be used. Each of its two
 * transactions takes no more gas than both take in one.
 */
function byAllowance({ permit: _permit, ...order }: PreparedOrder): PreparedOrder {
  const { subject, contract, token } = order
  const allowance: PreparedOrder = {
    ...order,
    subject: `${subject}-allowance`,
    route: 'allowance',
    payee: contract!,
    contract: token,
    token: undefined,
    reference: undefined,
  }
  return { ...order, route: 'token', before: [allowance] }
}

/** Whether it needs no permit, or has a permit that nothing blocks. */
function isPermitted({ permit, token }: PreparedOrder, { allowed }: OpenLane): boolean {
  if (permit === undefined || token === undefined) return true
  return permit.after === allowed.last && !allowed.open.includes(token)
}

/** The token that it lets be taken. */
function allowedBy({ route, token, contract }: PreparedOrder): Hex[] {
  const allowed = route === 'permit' ? token : route === 'allowance' ? contract : undefined
  return allowed === undefined ? [] : [allowed]
}

/** Changes the lane; where it throws, the lane is not to be used any more. */
function admitTo(one: OpenLane, order: PreparedOrder, policy: SenderPolicy): Admitted {
  const { signer, gas, fees, rollupFee, balance, chainNonce, token, bundled } = order
  if (one.open >= policy.inFlight + policy.queued) throw laneFull(signer)
  one.open += 1
  one.owed += weiOf(order) + gas * fees.maxFeePerGas + rollupFee
  if (one.owed > balance) throw insufficientFunds(signer)
  if (token !== undefined) {
    const owed = (one.tokens.get(token) ?? 0n) + order.amount
    if (owed > order.tokens) throw insufficientFunds(signer)
    one.tokens.set(token, owed)
  }
  const nonce = later(one.next.nextNonce, chainNonce)
  const counter = one.next.nextCounter
  const nextCounter = counter + 1n + BigInt(bundled.length)
  one.next = { ...one.lane, nextNonce: nonce + 1n, nextCounter }
  one.allowed = { ...one.allowed, open: [...one.allowed.open, ...allowedBy(order)] }
  return { prepared: order, nonce, counter }
}

function triedTo<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    if (isRefusal(error)) return error
    throw error
  }
}

async function storeAdmitted(
  context: SenderContext,
  db: Db,
  { admitted, steps }: { admitted: readonly Admitted[]; steps: readonly LaneStep[] },
): Promise<HashedOrder[]> {
  const payments = await needTogether(
    admitted.map(async (one): Promise<NewPayment> => {
      const { order, bundled } = newOrders(context, one)
      const { nonce, prepared } = one
      const { fees, rollupFee } = prepared
      const signed = await signPayment(context, { order, nonce, fees })
      return { order, bundled, nonce, fees, rollupFee, ...signed }
    }),
  )
  const orders = await storePayments(db, { payments, steps })
  return orders.map((order, place) => ({ order, hash: payments[place]!.hash }))
}

/** What is to be stored, before anybody else sees it. */
export async function signPayment(
  context: SenderContext,
  { order, nonce, fees }: Pick<NewPayment, 'order' | 'nonce' | 'fees'>,
): Promise<Signed> {
  const { chainId, gas, signer } = order
  return signChecked(context.sign, signer, { ...paymentCall(order), chainId, nonce, gas, fees })
}

function newOrders(
  { chainId, references, clock }: SenderContext,
  { prepared, counter: first }: Admitted,
): Pick<NewPayment, 'order' | 'bundled'> {
  const { subject, spender, signer, route, contract, token, payee, amount, gas } = prepared
  const acceptedAt = clock.now()
  const common = { spender, chainId, signer, contract, token, gas, acceptedAt }
  const numbered = (counter: bigint) => {
    return { ...common, counter, reference: references.encode({ payer: signer, counter }) }
  }
  const own = { ...numbered(first), subject, route, payee, amount }
  const reference = prepared.reference ?? own.reference
  if (!isBundle(route)) {
    const order = { ...own, reference }
    const { permit } = prepared
    if (permit === undefined || contract === undefined || token === undefined) {
      return { order: { ...order, calldata: prepared.calldata }, bundled: [] }
    }
    const { data: calldata } = permitCall({ ...order, contract, token }, permit)
    return { order: { ...order, calldata }, bundled: [] }
  }
  const bundled = prepared.bundled.map((payment, place): NewOrder => {
    const numbers = numbered(first + 1n + BigInt(place))
    return { ...numbers, ...payment, route: ROUTES_IN[route], calldata: undefined }
  })
  return { order: { ...own, calldata: bundleCalldata({ route, token }, bundled) }, bundled }
}

/** A nonce that the chain has used already was used outside of the platform. */
export function later(nextNonce: bigint, chainNonce: bigint | undefined): bigint {
  return chainNonce !== undefined && chainNonce > nextNonce ? chainNonce : nextNonce
}

async function acceptedBefore(db: Db, order: Order): Promise<HashedOrder> {
  const newest = (await listAttemptsOf(db, order)).at(-1)
  if (newest === undefined) throw new ImpossibleError('an order is stored with its first attempt')
  return { order, hash: newest.hash }
}

function laneBusy(signer: string): OrderRefusedError {
  return new OrderRefusedError(
    `Another process has locked the lane of ${signer} for too long. Nothing was done. Try again.`,
    { code: 'lane_busy', retryable: true },
  )
}

function laneFull(signer: string): OrderRefusedError {
  return new OrderRefusedError(
    `Too many orders of ${signer} wait for their turn. Try again later, or use more signers.`,
    { code: 'lane_full', retryable: true },
  )
}
