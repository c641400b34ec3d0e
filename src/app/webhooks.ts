import type { Registry } from 'prom-client'

import type { Bells } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { Tracing } from '../base/tracing/tracing.ts'
import type { Watchdog } from '../base/watchdog.ts'
import type { Db } from '../store/database/database.ts'
import { SCHEDULES } from '../webhooks/schedule.ts'
import { createSend } from '../webhooks/send.ts'
import { createTargets, resolveByDns } from '../webhooks/targets.ts'
import { startWebhookWorker } from '../webhooks/worker.ts'
import { countWebhooks } from './metrics.ts'
import { traceDeliveries } from './tracing/deliveries.ts'

/** Delivers webhooks until the program stops. */
export function startWebhooks(ground: {
  config: Pick<Config, 'environment' | 'host'>
  db: Db
  clock: Clock
  logger: Logger
  registry: Registry
  shutdown: Shutdown
  bells: Bells
  watchdog: Watchdog
  tracing?: Tracing | undefined
}): void {
  const { db, clock, logger, registry, shutdown, bells } = ground
  const { environment, host } = ground.config
  const targets = createTargets({ environment, host, resolve: resolveByDns })
  const { watch } = ground.watchdog
  const onPass = {
    sound: watch('webhooks', limits.webhooksStillMs),
    failing: watch('webhooks that failed', limits.webhooksStillMs),
  }
  const worker = startWebhookWorker({
    db,
    clock,
    random: Math.random,
    logger,
    send: createSend({ targets, clock, timeoutMs: limits.webhookTimeoutMs }),
    schedule: SCHEDULES[environment],
    signal: shutdown.signal,
    bell: bells.of('webhooks'),
    onTry: countWebhooks(registry),
    trace: traceDeliveries(ground),
    onPass: (kind) => onPass[kind](),
  })
  shutdown.add('the webhooks', () => worker.done)
}
