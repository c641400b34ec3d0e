import { randomBytes } from 'node:crypto'

import { sql } from 'kysely'

import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import type { EndpointState, NotificationType } from '../../src/domain/notifications.ts'
import { createWebhookSecret } from '../../src/domain/webhook-secrets.ts'
import type { Db } from '../../src/store/database.ts'
import { listDeliveries, type Delivery } from '../../src/store/delivery-log.ts'
import { notify } from '../../src/store/notifications.ts'
import { insertSubscription, type Subscription } from '../../src/store/subscriptions.ts'
import type { User } from '../../src/store/users.ts'
import { createSend } from '../../src/webhooks/send.ts'
import { createTargets } from '../../src/webhooks/targets.ts'
import {
  startWebhookWorker,
  type WebhookWorker,
  type WebhookWorkerDeps,
} from '../../src/webhooks/worker.ts'
import { makeUser } from './access.ts'
import { freshDatabase } from './database.ts'
import { startReceiver, type Receiver } from './receiver.ts'

export const PAYMENT = { id: 'p-1', type: 'payment', status: 'paid', amount: '1.00' }

/** A subscription to one url, which has answered its ping unless another state is given. */
export async function makeSubscription(
  db: Db,
  wanted: {
    userId: number
    url?: string
    types?: NotificationType[]
    state?: EndpointState
  },
): Promise<Subscription & { secret: string }> {
  const { userId, url = 'https://hooks.example/', types, state = 'confirmed' } = wanted
  const secret = createWebhookSecret(randomBytes)
  const subscription = await insertSubscription(db, {
    userId,
    url,
    secret,
    endpoints: [{ url, types: types ?? ['payments', 'transfers', 'chargebacks'] }],
  })
  if (state === 'pending') return { ...subscription, secret }
  await sql`
    with endpoint as (
      update webhook_endpoints set state = ${state},
        disabled_code = ${state === 'disabled' ? 'gone' : null}
      where subscription_id = ${subscription.id} returning id)
    update webhook_deliveries set state = 'delivered', tries = 1
    where endpoint_id in (select id from endpoint)`.execute(db)
  return { ...subscription, secret }
}

/** A payment on its way to a confirmed endpoint of the user. */
export async function makeDelivery(
  db: Db,
  wanted: { userId: number; url?: string },
): Promise<Delivery & { secret: string }> {
  const { id: subscriptionId, secret } = await makeSubscription(db, wanted)
  await notify(db, { userId: wanted.userId, type: 'payments', body: PAYMENT })
  const [delivery] = await listDeliveries(db, { subscriptionId, state: 'pending', limit: 1 })
  return { ...(delivery as Delivery), secret }
}

export type Bench = {
  db: Db
  user: User
  receiver: Receiver
  /** Several may run at once; all are stopped with the bench. */
  start: (options?: BenchOptions) => { worker: WebhookWorker; stop: () => Promise<void> }
  tell: (times?: number) => Promise<void>
  /** Of the user, oldest first, without pings. */
  deliveries: () => Promise<Delivery[]>
  stop: () => Promise<void>
}

export type BenchOptions = Partial<
  Pick<WebhookWorkerDeps, 'schedule' | 'pace' | 'send' | 'onTry'> & { timeoutMs: number }
>

/** A user, a receiver, and workers that need milliseconds where real ones take seconds. */
export async function createBench(): Promise<Bench> {
  const { db } = await freshDatabase()
  const user = await makeUser(db)
  const receiver = await startReceiver()
  const stops: Array<() => Promise<void>> = []
  return {
    db,
    user,
    receiver,
    start(options = {}) {
      const controller = new AbortController()
      const worker = startWebhookWorker({ ...depsOf(db, options), signal: controller.signal })
      const stop = async () => {
        controller.abort()
        await worker.done
      }
      stops.push(stop)
      return { worker, stop }
    },
    async tell(times = 1) {
      for (let time = 0; time < times; time++) {
        await notify(db, { userId: user.id, type: 'payments', body: PAYMENT })
      }
    },
    async deliveries() {
      const all = await listDeliveries(db, { userId: user.id, limit: 1000 })
      return all.filter(({ notification }) => notification.type !== 'ping').toReversed()
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()))
      await receiver.close()
    },
  }
}

function depsOf(db: Db, options: BenchOptions): Omit<WebhookWorkerDeps, 'signal'> {
  const targets = createTargets({
    environment: 'sandbox',
    host: '127.0.0.1',
    resolve: async () => [],
  })
  const { timeoutMs = 5000 } = options
  return {
    db,
    clock: systemClock,
    random: Math.random,
    logger: createLogger({ level: 'silent' }),
    send: options.send ?? createSend({ targets, clock: systemClock, timeoutMs }),
    schedule: options.schedule ?? { pausesMs: [10, 10, 10], disableAfterMs: 432_000_000 },
    pace: { pollMs: 10, failingPollMs: 10, ...options.pace },
    ...(options.onTry && { onTry: options.onTry }),
  }
}

/** Waits for what a worker does in its own time. */
export async function until(what: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (await what()) return
    await new Promise((later) => setTimeout(later, 5))
  }
  throw new Error('it did not happen')
}
