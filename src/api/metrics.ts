import type { FastifyInstance } from 'fastify'
import { Histogram, type Registry } from 'prom-client'

/** `/metrics` in Prometheus' text form, with the time of every route. */
export function addMetricsRoute(server: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    name: 'quittance_http_request_seconds',
    help: 'Time from the request to the last byte of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  })
  server.addHook('onResponse', async (request, reply) => {
    // The route's pattern, never the address itself: ids would make a series each.
    const route = request.routeOptions.url ?? 'unknown'
    const labels = { method: request.method, route, status: reply.statusCode }
    duration.observe(labels, reply.elapsedTime / 1000)
  })
  server.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType)
    return registry.metrics()
  })
}
