import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop } from '../base/loop.ts'
import type { Span } from '../base/tracing/tracing.ts'
import type { TryOutcome } from '../domain/notifications.ts'
import { signWebhook } from '../domain/webhook-secrets.ts'
import type { EveryonesEvent } from '../store/access/everyone.ts'
import type { Db } from '../store/database/database.ts'
import {
  cancelDeliveries,
  leaseDeliveries,
  lookForDeliveries,
  recordDelivered,
  recordFailed,
  releaseDelivery,
  type DeliveryLease,
  type LeaseWanted,
} from '../store/webhooks/deliveries.ts'
import { listEventFollowers, tellOfEvents } from '../store/webhooks/event-notifications.ts'
import { notificationText, webhookHeaders } from '../wire/group-a/subscriptions.ts'
import { eventFields } from '../wire/group-b/events.ts'
import { pauseAfter, type Schedule } from './schedule.ts'
import type { Send, SendResult } from './send.ts'

/** Delivers what is due, from any number of processes at once, until its signal aborts. */
export type WebhookWorker = {
  /** Resolves when all that was under way has been recorded or given back. */
  done: Promise<void>
}

export type WebhookWorkerDeps = {
  db: Db
  clock: Clock
  random: () => number
  logger: Logger
  send: Send
  schedule: Schedule
  signal: AbortSignal
  /** Rung when something to deliver was committed, in whichever process. */
  bell?: Bell
  pace?: Partial<WebhookPace>
  /** Told after each try, with how long it took. */
  onTry?: (made: { outcome: TryOutcome; durationMs: number }) => void
  /** Begins the span of a try, where what it is about is traced. Absent where traces are off. */
  trace?: ((lease: DeliveryLease) => Promise<Span | undefined>) | undefined
  /** Called whenever it has looked for what is due of a kind. */
  onPass?: (kind: LeaseWanted['kind']) => void
}

/** How much at once, and how often it looks. */
export type WebhookPace = {
  slots: number
  /** Those that failed last share these, so that they cannot take the others' slots. */
  failingSlots: number
  perEndpoint: number
  perUser: number
  pollMs: number
  failingPollMs: number
  /** Longer than any try takes: it ends only the lease of a worker that died. */
  leaseMs: number
}

const PACE: WebhookPace = {
  slots: 192,
  failingSlots: 64,
  perEndpoint: 8,
  perUser: 48,
  pollMs: 200,
  failingPollMs: 500,
  leaseMs: 30_000,
}

export function startWebhookWorker(deps: WebhookWorkerDeps): WebhookWorker {
  const pace = { ...PACE, ...deps.pace }
  // One loop hears the bell, and wakes the others as soon as there is somebody to tell.
  const isHeard = (): boolean => deps.bell?.isHeard() ?? false
  const sound = createLane(deps, {
    kind: 'sound',
    isHeard,
    onEndpoints() {
      failing.kick()
      events.kick()
    },
    slots: pace.slots,
    perEndpoint: pace.perEndpoint,
    perUser: pace.perUser,
    pollMs: pace.pollMs,
    leaseMs: pace.leaseMs,
  })
  const failing = createLane(deps, {
    kind: 'failing',
    isHeard,
    slots: pace.failingSlots,
    perEndpoint: 1,
    perUser: Math.ceil(pace.failingSlots / 4),
    pollMs: pace.failingPollMs,
    leaseMs: pace.leaseMs,
  })
  const events = createLoop({
    name: 'webhooks (events)',
    clock: deps.clock,
    logger: deps.logger,
    isHeard,
    intervalMs: EVENTS_POLL_MS,
    async pass() {
      if (!(await tellFollowers(deps.db))) return sound.hasEndpoints() ? undefined : Infinity
      sound.kick()
      // A user may have more than one page of events.
      return true
    },
  })
  const running = [sound.run(), failing.run(), events.run(deps.signal)]
  const endListening = deps.bell?.listen(sound.kick)
  return { done: Promise.all(running).then(() => endListening?.()) }
}

/** A page for each user, so that none waits for the backlog of another. False: nothing was new. */
async function tellFollowers(db: Db): Promise<boolean> {
  const users = await listEventFollowers(db)
  for (const userId of users) {
    await tellOfEvents(db, { userId, limit: EVENTS_AT_ONCE, bodyOf: eventBody })
  }
  return users.length > 0
}

function eventBody(event: EveryonesEvent): Record<string, unknown> {
  return { id: Number(event.id), ...eventFields(event) }
}

const EVENTS_POLL_MS = 500
const EVENTS_AT_ONCE = 200

type LanePace = Pick<LeaseWanted, 'kind' | 'perEndpoint' | 'perUser' | 'leaseMs'> & {
  slots: number
  pollMs: number
  /** While the bell is heard, a lane rests for long where there is nobody to tell. */
  isHeard: () => boolean
  /** There is somebody now. */
  onEndpoints?: () => void
}

type Lane = {
  kick: () => void
  run: () => Promise<void>
  /** As of its last look. */
  hasEndpoints: () => boolean
}

/** Takes deliveries of one kind as slots become free, and waits for each try by itself. */
function createLane(deps: WebhookWorkerDeps, pace: LanePace): Lane {
  const { clock, logger, signal } = deps
  const held = new Map<DeliveryLease, Promise<void>>()
  let hasEndpoints = true

  /** Resolves to how long nothing is due, where there is nobody to tell. */
  async function take(): Promise<number | undefined> {
    const limit = pace.slots - held.size
    if (limit === 0) return undefined
    const look = await lookForDeliveries(deps.db)
    if (look.hasEndpoints && !hasEndpoints) pace.onEndpoints?.()
    hasEndpoints = look.hasEndpoints
    if (!look.isDue) return hasEndpoints ? undefined : Infinity
    const leases = await leaseDeliveries(deps.db, { ...pace, limit, held: [...held.keys()] })
    const disabled = leases.filter((lease) => lease.isDisabled)
    if (disabled.length > 0) {
      const endpointIds = new Set(disabled.map(({ endpointId }) => endpointId))
      await cancelDeliveries(deps.db, [...endpointIds])
    }
    for (const lease of leases.filter((one) => !one.isDisabled)) {
      held.set(lease, finish(lease))
    }
    return undefined
  }

  async function finish(lease: DeliveryLease): Promise<void> {
    try {
      await deliver(deps, lease)
    } catch (error) {
      // Its lease runs out, and it comes again.
      logger.warn({ err: error, delivery: lease.id }, 'a webhook try was not recorded')
    }
    const wasFull = isFull(lease)
    held.delete(lease)
    if (wasFull) loop.kick()
  }

  /** Whether something may be waiting for the slot of this one. */
  function isFull({ endpointId, userId }: DeliveryLease): boolean {
    const all = [...held.keys()]
    return (
      all.length >= pace.slots ||
      all.filter((one) => one.endpointId === endpointId).length >= pace.perEndpoint ||
      all.filter((one) => one.userId === userId).length >= pace.perUser
    )
  }

  const loop = createLoop({
    name: `webhooks (${pace.kind})`,
    clock,
    logger,
    isHeard: pace.isHeard,
    intervalMs: pace.pollMs,
    restMs: restAfter,
    onProgress: () => deps.onPass?.(pace.kind),
    pass: take,
  })
  return {
    kick: loop.kick,
    hasEndpoints: () => hasEndpoints,
    async run() {
      await loop.run(signal)
      await Promise.all(held.values())
    },
  }
}

/**
 * Many changes in a row kick as many times. Looking for all of them at once, in at most a third of
 * the time, leaves the database to those who make them.
 */
function restAfter(tookMs: number): number {
  return Math.max(MIN_REST_MS, 2 * tookMs)
}

const MIN_REST_MS = 10

/** One try, from the signature to the record of what came of it. */
async function deliver(deps: WebhookWorkerDeps, lease: DeliveryLease): Promise<void> {
  const { db, clock, signal } = deps
  let made: SendResult
  const span = await deps.trace?.(lease)
  try {
    const { url, notification, secrets } = lease
    const body = notificationText(notification)
    const timestampS = Math.floor(clock.now().getTime() / 1000)
    const signature = signWebhook({ id: notification.id, timestampS, body, secrets })
    const headers = {
      ...webhookHeaders(notification),
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signature,
      ...(span && { traceparent: span.traceparent }),
    }
    made = await deps.send({ url, headers, body, signal })
  } catch (error) {
    if (!signal.aborted) throw error
    await releaseDelivery(db, lease)
    return
  }
  endTry(span, made)
  deps.onTry?.(made)
  await record(deps, lease, made)
}

function endTry(span: Span | undefined, { outcome, status, error }: SendResult): void {
  if (span === undefined) return
  span.set({ 'http.response.status_code': status ?? undefined })
  if (outcome !== 'delivered') span.fail(error ?? outcome)
  span.end()
}

async function record(
  { db, schedule, random, logger }: WebhookWorkerDeps,
  lease: DeliveryLease,
  made: SendResult,
): Promise<void> {
  if (made.outcome === 'delivered') {
    await recordDelivered(db, lease, made)
    return
  }
  const { retryAfterMs: asked, ...rest } = made
  const failure = { schedule, tries: lease.tries + 1, retryAfterMs: asked, random: random() }
  const disabledCode = await recordFailed(db, lease, {
    ...rest,
    retryAfterMs: made.outcome === 'gone' ? undefined : pauseAfter(failure),
    disableAfterMs: schedule.disableAfterMs,
  })
  if (!disabledCode) return
  const { endpointId, userId } = lease
  logger.warn({ endpointId: String(endpointId), userId, disabledCode }, 'a webhook was disabled')
  await cancelDeliveries(db, [endpointId])
}
