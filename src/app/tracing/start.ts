import type { Registry } from 'prom-client'

import type { Config } from '../../base/config.ts'
import type { Logger } from '../../base/logger.ts'
import type { Shutdown } from '../../base/shutdown.ts'
import { openTracing } from '../../base/tracing/open-tracing.ts'
import type { Tracing } from '../../base/tracing/tracing.ts'
import { countSpans } from '../metrics.ts'

/** Undefined where no collector is set. It stops last, since other parts end spans until then. */
export async function startTracing(options: {
  config: Pick<Config, 'tracing' | 'environment'>
  role: string
  logger: Logger
  registry: Registry
  shutdown: Shutdown
}): Promise<Tracing | undefined> {
  const { role, logger, registry, shutdown } = options
  const { tracing: config, environment } = options.config
  if (config === undefined) return undefined
  const tracing = await openTracing({
    config,
    logger,
    resource: { 'deployment.environment.name': environment, 'quittance.role': role },
    onNews: countSpans(registry),
  })
  shutdown.add('the traces', tracing.stop)
  return tracing
}
