import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Histogram, type Registry } from 'prom-client'

import { recent } from '../base/cache.ts'
import { limits } from '../base/limits.ts'
import { mayUse } from '../domain/access.ts'
import { forbidden } from './admission/admit.ts'
import type { EndpointHooks } from './admission/endpoint.ts'
import type { DoorConfig } from './door/door.ts'

export type MayRead = (request: FastifyRequest) => Promise<void>

/** `/metrics` in Prometheus' text form, with the time of every route. */
export function addMetricsRoute(
  server: FastifyInstance,
  options: {
    registry: Registry
    ownRegistry: Registry
    /** Rejects who may not read them; absent: everybody may. */
    mayRead?: MayRead
  },
): void {
  const { registry, ownRegistry, mayRead } = options
  const duration = new Histogram({
    name: 'quittance_http_request_seconds',
    help: 'Time from the request to the last byte of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [ownRegistry],
  })
  server.addHook('onResponse', async (request, reply) => {
    // The route's pattern, never the address itself: ids would make a series each.
    const route = request.routeOptions.url ?? 'unknown'
    const labels = { method: request.method, route, status: reply.statusCode }
    duration.observe(labels, reply.elapsedTime / 1000)
  })
  // Each collection asks the database, and anybody may be allowed to ask for one.
  const collect = recent({
    load: async () => registry.metrics(),
    maxAgeMs: limits.metricsAgeMs,
    now: () => performance.now(),
  })
  const config: DoorConfig = { lane: 'status' }
  server.get('/metrics', { config }, async (request, reply) => {
    await mayRead?.(request)
    return reply.type(registry.contentType).send(await collect())
  })
}

/** Figures of everybody's payments are for those who may see everybody's payments. */
export function requireAdmin({ authenticate }: Pick<EndpointHooks, 'authenticate'>): MayRead {
  return async ({ headers, ip }) => {
    const caller = await authenticate(headers, ip)
    if (mayUse(caller, 'admin')) return
    throw forbidden('admin')
  }
}
