import { codeOf, messageOf, type Result } from '../base/errors.ts'
import { forEachAtOnce } from '../base/groups.ts'
import { createLoop } from '../base/loop.ts'
import { quantity } from '../chain/answers.ts'
import { neededOf, type Quorum } from '../chain/quorum.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import type { Fees, HashedOrder, Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { transact } from '../store/database/transact.ts'
import { hasOpenNonces, leaseLanes, releaseLanes, type Lease } from '../store/orders/lanes.ts'
import { countOpenAlerts } from '../store/orders/sender-alerts.ts'
import { findOrders, requestCancel } from '../store/orders/orders.ts'
import { acceptNewOrders, acceptOrder } from './accept.ts'
import { broadcastLanes, resendLane, type Broadcasting } from './broadcast.ts'
import { lookAt, nonceOnChain, type ChainLook } from './chain-view.ts'
import type { SenderContext, SenderProvider } from './context.ts'
import { followLanes } from './follow.ts'
import { prepareOrder, type PaymentRequest, type PreparedOrder } from './prepare.ts'
import { estimateBatch, prepareBatch, type BatchCost, type BatchRequest } from './prepare-batch.ts'
import { replaceLane, type Replacing } from './replace.ts'
import { createOwnPayments, type OwnPayments } from './signers/operators-fault.ts'
import { listStanding } from './slots.ts'
import { tendAlerts, watchChain } from './watch.ts'

export type Sender = {
  /**
   * Asks the chain what the payment takes, and refuses what cannot succeed. Nothing is stored but
   * the lane. Inside an open transaction, pass it: one connection serves no other query meanwhile.
   */
  prepare: (db: Db, request: PaymentRequest, signal: AbortSignal) => Promise<PreparedOrder>
  /** Around `prepare`, where it is the platform that pays. */
  own: OwnPayments
  /** The same of many, which are accepted together. */
  prepareBatch: (db: Db, request: BatchRequest, signal: AbortSignal) => Promise<PreparedOrder>
  /** What such a batch would take; nothing is stored but the lane. */
  estimateBatch: (db: Db, request: BatchRequest, signal: AbortSignal) => Promise<BatchCost>
  /** Signs and stores in the caller's `transact`, once. Call `kick` when it has committed. */
  accept: (db: Db, prepared: PreparedOrder) => Promise<HashedOrder>
  /** Several with new subjects, each of which is refused by itself. */
  acceptNew: (db: Db, prepared: readonly PreparedOrder[]) => Promise<Result<HashedOrder>[]>
  /** Both, in a transaction of its own. */
  pay: (request: PaymentRequest, signal: AbortSignal) => Promise<HashedOrder>
  /** Asks for an order to be cancelled; what is mined decides. False: it is too late, or known. */
  cancel: (orderId: bigint) => Promise<boolean>
  /** Looks at every lane with open nonces once. All that it needs to know is in the tables. */
  pass: (signal: AbortSignal) => Promise<void>
  /** One pass after the other until the signal ends it. */
  run: (signal: AbortSignal) => Promise<void>
  /** Begins the next pass now. A kick that is lost costs the rest of a wait, and nothing else. */
  kick: () => void
}

export function createSender(context: SenderContext): Sender {
  const { db, policy, clock, logger, onProgress, bell } = context
  const loop = createLoop({
    name: 'sender',
    clock,
    logger,
    intervalMs: policy.pollIntervalMs,
    bell,
    onProgress,
    // Each order that is accepted kicks it, and a pass looks at every lane that is open.
    restMs: (tookMs) => Math.min(tookMs, policy.pollIntervalMs / 4),
    pass: (signal, { isKicked }) =>
      runPass(context, signal, isKicked ? 0 : policy.pollIntervalMs * RESTED),
  })
  const rightOnes = forAWhile(context, (signal) => findRightProviders(context, signal))
  const quoteFees = forAWhile(context, (signal) => context.quoteFees(signal))
  const withQuorum = async (signal: AbortSignal) => ({
    ...context,
    quoteFees,
    quorum: quorumOf(context, await rightOnes(signal), signal),
  })
  const sender: Sender = {
    prepare: async (db, request, signal) => prepareOrder(await withQuorum(signal), db, request),
    own: createOwnPayments(context),
    prepareBatch: async (db, request, signal) =>
      prepareBatch(await withQuorum(signal), db, request),
    estimateBatch: async (db, request, signal) =>
      estimateBatch(await withQuorum(signal), db, request),
    accept: (db, prepared) => acceptOrder(context, db, prepared),
    acceptNew: (db, prepared) => acceptNewOrders(context, db, prepared),
    async pay(request, signal) {
      const prepared = await sender.prepare(db, request, signal)
      const accepted = await transact(db, (open) => acceptOrder(context, open, prepared), signal)
      loop.kick()
      return accepted
    },
    cancel: (id) => requestCancel(db, { id, code: 'cancelled', now: clock.now() }),
    pass: async (signal) => void (await runPass(context, signal)),
    run: loop.run,
    kick: loop.kick,
  }
  return sender
}

/**
 * How much of an interval a lane rests, no matter which worker looked at it: several workers look
 * as often as one. It is less than 1, or a timer that is early would wait for the next interval.
 */
const RESTED = 0.8

/** Resolves to how long to rest: until a kick where nothing is open on any lane. */
async function runPass(
  context: SenderContext,
  signal: AbortSignal,
  restMs = 0,
): Promise<number | undefined> {
  const quorum = quorumOf(context, await findRightProviders(context, signal), signal)
  if (quorum.providers.length === 0) return undefined
  const look = await lookAt(quorum, context.policy.confirmations)
  if (look !== undefined) await watchChain(context, look)
  const before = new Date(context.clock.now().getTime() - restMs)
  const { chainId, policy } = context
  // Each lane is leased once, since the release moves it behind `before`.
  let lanes = 0
  while (lanes < MAX_LANES && !signal.aborted) {
    const until = new Date(context.clock.now().getTime() + policy.leaseMs)
    const limit = policy.lanesAtOnce
    const leases = await leaseLanes(context.db, { chainId, before, until, limit })
    if (leases.length === 0) break
    lanes += leases.length
    await workOn(context, { leases, quorum, look })
    context.onProgress?.()
  }
  if (look !== undefined) await tendAlerts(context, look)
  if (lanes > 0) return undefined
  if (await hasOpenNonces(context.db, chainId)) return TAKE_OVER_MS
  const alerts = await countOpenAlerts(context.db, chainId)
  return alerts.has('reorg_after_final') ? policy.rebroadcastMs : Number.POSITIVE_INFINITY
}

/** The lanes of a worker that has ended wait this long at most for another one. */
const TAKE_OVER_MS = 2000

const MAX_LANES = 10_000

type Work = { leases: readonly Lease[]; quorum: Quorum; look: ChainLook | undefined }

/** Lanes whose turn fails wait for the next pass; they keep no others from theirs. */
async function workOn(context: SenderContext, work: Work): Promise<void> {
  const { leases } = work
  try {
    try {
      await takeTurns(context, work)
    } finally {
      await releaseLanes(context.db, leases, context.clock.now())
    }
  } catch (error) {
    const signers = leases.map(({ signer }) => signer)
    context.logger.warn({ signers, reason: messageOf(error) }, 'lanes were left to their next turn')
  }
}

/** One turn of several lanes, so that what they read and write takes one statement for all. */
async function takeTurns(context: SenderContext, { leases, quorum, look }: Work): Promise<void> {
  const { db, policy } = context
  const lost = new Set<Lease>()
  const step = async <T>(name: string, work: () => Promise<T>, lease?: Lease) => {
    try {
      return await work()
    } catch (error) {
      if (lease !== undefined && codeOf(error) === 'lane_lost') lost.add(lease)
      const { signer } = lease ?? {}
      context.logger.warn({ signer, step: name, reason: messageOf(error) }, 'a step failed')
      return undefined
    }
  }
  const counts = await countNonces(quorum, leases)
  if (look !== undefined) {
    await step('follow', () => followLanes(context, { leases, look, lost, counts }))
  }
  const held = leases.filter((lease) => !lost.has(lease))
  const lanes = await readTurns(context, { leases: held, quorum, counts })
  const replaced: Turn[] = []
  await forEachAtOnce(lanes, SIGNING_AT_ONCE, async (lane) => {
    const isReplaced = await step('replace', () => replaceLane(context, lane), lane.lease)
    if (isReplaced !== false) replaced.push(lane)
  })
  const again = await listStanding(
    db,
    replaced.map(({ lease }) => lease),
    policy.inFlight,
  )
  const sending = lanes
    .filter(({ lease }) => !lost.has(lease))
    .map((lane) => ({ ...lane, standing: again.get(lane.lease.signer) ?? lane.standing }))
  await forEachAtOnce(sending, SIGNING_AT_ONCE, async (lane) => {
    await step('resend', () => resendLane(context, quorum, lane), lane.lease)
  })
  await step('broadcast', () => broadcastLanes(context, quorum, sending))
}

/** A signer or a provider that is slow must not outlast the lease of all. */
const SIGNING_AT_ONCE = 8

type Turn = Replacing & Broadcasting

/** How many transactions of each signer are in blocks; undefined where that is not agreed on. */
async function countNonces(
  quorum: Quorum,
  leases: readonly Lease[],
): Promise<Map<Hex, bigint | undefined>> {
  const counted = leases.map(async ({ signer }) => {
    return [signer, await nonceOnChain(quorum, { signer, at: 'latest' })] as const
  })
  return new Map(await Promise.all(counted))
}

/** What each of the lanes waits for, here and on the chain. */
async function readTurns(
  { db, policy, quoteFees }: SenderContext,
  {
    leases,
    quorum,
    counts,
  }: { leases: readonly Lease[]; quorum: Quorum; counts: ReadonlyMap<Hex, bigint | undefined> },
): Promise<Turn[]> {
  const queues = await listStanding(db, leases, policy.inFlight)
  const ids = [...queues.values()].flatMap(({ waiting }) =>
    waiting.flatMap(({ orderId }) => orderId ?? []),
  )
  const orders = new Map((await findOrders(db, ids)).map((order) => [order.id, order]))
  let quote: Promise<Fees> | undefined
  const quoting = () => (quote ??= quoteFees(quorum.signal))
  return leases.map((lease) => {
    const { signer } = lease
    const standing = queues.get(signer)!
    return { lease, expected: counts.get(signer), standing, orders, quoting }
  })
}

/** Many orders that are prepared at one time share one answer. */
function forAWhile<T>(
  { clock }: SenderContext,
  ask: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal) => Promise<T> {
  let last: { answer: Promise<T>; atMs: number } | undefined
  return async (signal) => {
    const nowMs = clock.now().getTime()
    if (last === undefined || nowMs - last.atMs >= SHARED_MS) {
      const answer = ask(signal)
      const mine = { answer, atMs: nowMs }
      last = mine
      // A failure is nobody else's answer.
      answer.catch(() => last === mine && (last = undefined))
    }
    return last.answer
  }
}

const SHARED_MS = 500

function quorumOf(
  { providers: all, logger }: SenderContext,
  providers: readonly Provider[],
  signal: AbortSignal,
): Quorum {
  const onFailure: Quorum['onFailure'] = ({ provider, error }) =>
    logger.debug({ provider, reason: messageOf(error) }, 'a provider failed')
  // Of those that are configured: one that is down makes no other one believable alone.
  return { providers, needed: neededOf(all.length), signal, onFailure }
}

/**
 * The providers that serve the right chain at this moment. One that is out of use for now is left
 * alone where enough others are right, so that a payment does not wait for it.
 */
async function findRightProviders(
  context: SenderContext,
  signal: AbortSignal,
): Promise<readonly Provider[]> {
  const { providers } = context
  const resting = providers.filter(isResting)
  const awake = providers.filter((provider) => !resting.includes(provider))
  const right = await rightOf(context, awake, signal)
  if (right.length >= neededOf(providers.length)) return right
  return [...right, ...(await rightOf(context, resting, signal))]
}

function isResting({ state }: SenderProvider): boolean {
  const now = state?.()
  return now !== undefined && (now.circuit === 'open' || now.isPaused)
}

async function rightOf(
  { chainId, logger }: SenderContext,
  providers: readonly Provider[],
  signal: AbortSignal,
): Promise<readonly Provider[]> {
  const isRight = async (provider: Provider): Promise<boolean> => {
    try {
      const answer = quantity(await provider.request({ method: 'eth_chainId', signal }), 'chain id')
      if (answer === BigInt(chainId)) return true
      logger.error({ provider: provider.name, answer: String(answer) }, 'a provider left the chain')
    } catch (error) {
      logger.debug({ provider: provider.name, reason: messageOf(error) }, 'a provider failed')
    }
    return false
  }
  const right = await Promise.all(providers.map(isRight))
  return providers.filter((_, index) => right[index])
}
