import { randomBytes } from 'node:crypto'

import { Circle } from '@circle-fin/circle-sdk'
import { expect } from 'chai'
import { Registry } from 'prom-client'

import { createAccess } from '../../src/api/access/access.ts'
import { createIdempotently } from '../../src/api/admission/idempotently.ts'
import { subscriptionDeliveryEndpoints } from '../../src/api/endpoints/v1/notifications/deliveries.ts'
import { subscriptionEndpoints } from '../../src/api/endpoints/v1/notifications/subscriptions.ts'
import { createServer } from '../../src/api/server/server.ts'
import { measureWebhooks } from '../../src/app/metrics.ts'
import { createRequireTarget } from '../../src/app/operations.ts'
import { startWebhooks } from '../../src/app/webhooks.ts'
import { createBells } from '../../src/base/bells.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createShutdown, type Shutdown } from '../../src/base/shutdown.ts'
import { createWatchdog } from '../../src/base/watchdog.ts'
import { makeKey, makeUser } from '../fixtures/api/access.ts'
import { startReceiver, type Receiver } from '../fixtures/api/receiver.ts'
import { until } from '../fixtures/api/webhooks.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

describe('subscriptions by the published SDK', () => {
  let shutdown: Shutdown
  let receiver: Receiver
  let registry: Registry

  beforeEach(async () => {
    shutdown = createShutdown()
    receiver = await startReceiver()
    shutdown.add('the receiver', receiver.close)
    registry = new Registry()
  })

  afterEach(() => shutdown.stop())

  it('are made, confirmed, listed and deleted', async () => {
    const { sdk } = await start()
    const created = await sdk.subscriptions.createSubscription({ endpoint: receiver.url })
    expect(created.status).to.equal(201)
    expect(created.data.data).to.include({ endpoint: receiver.url })
    const list = async () => (await sdk.subscriptions.listSubscriptions()).data.data ?? []
    await until(async () => {
      const [one] = await list()
      return one?.subscriptionDetails?.every(({ status }) => status === 'confirmed') ?? false
    })
    expect(receiver.received).to.have.length(1)
    const [listed] = await list()
    expect(listed?.id).to.equal(created.data.data?.id)
    const deleted = await sdk.subscriptions.deleteSubscription(listed?.id ?? '')
    expect(deleted.data.data).to.deep.equal({})
    expect(await list()).to.deep.equal([])
  })

  it('are counted, and so is what waits', async () => {
    const { sdk } = await start()
    await sdk.subscriptions.createSubscription({ endpoint: receiver.url })
    const tries = () => registry.getSingleMetricAsString('quittance_webhook_tries_total')
    await until(async () => (await tries()).includes('{outcome="delivered"} 1'))
    const text = await registry.metrics()
    expect(text).to.contain('quittance_webhook_oldest_due_seconds 0')
    expect(text).to.contain('quittance_webhook_try_seconds_count 1')
  })

  async function start(): Promise<{ sdk: Circle }> {
    const { db } = await freshDatabase()
    const { text } = await makeKey(db, { user: await makeUser(db), dialect: 'nested' })
    const logger = createLogger({ level: 'silent' })
    const clock = systemClock
    const environment = 'sandbox'
    const host = '127.0.0.1'
    const bells = createBells()
    measureWebhooks(registry, db)
    startWebhooks({
      config: { environment, host },
      db,
      clock,
      logger,
      registry,
      shutdown,
      bells,
      watchdog: createWatchdog({ clock, logger }),
    })
    const server = createServer({
      logger,
      registry: new Registry(),
      checks: () => [],
      isStopping: () => false,
      endpoints: [
        ...subscriptionEndpoints({
          randomBytes,
          requireTarget: createRequireTarget({ environment, host }),
        }),
        ...subscriptionDeliveryEndpoints(),
      ],
      hooks: {
        db,
        ...createAccess({ db, clock, environment }),
        idempotently: createIdempotently({ db, onCommitted: bells.of('webhooks').ring }),
      },
    })
    shutdown.add('the server', () => server.close())
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    return { sdk: new Circle(text, url) }
  }
})
