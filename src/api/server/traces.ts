import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { Span, Tracing } from '../../base/tracing/tracing.ts'
import { isUnlogged } from './request-logger.ts'

/**
 * Makes each request a span, as part of its caller's trace where it has a `traceparent`. The id of
 * the trace is in the answer and in each line of the log.
 */
export function addTraces(server: FastifyInstance, tracing: Tracing | undefined): void {
  server.decorateRequest(SPAN, undefined)
  if (tracing === undefined) return
  server.addHook('onRequest', async (request, reply) => {
    const { method, headers, routeOptions } = request
    // As in the log: a path may have in it what opens a door.
    const { url: route } = routeOptions
    if (PROBES.has(route ?? '')) return
    const { traceparent } = headers
    const span = tracing.start(route === undefined ? method : `${method} ${route}`, {
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'url.scheme': request.protocol,
        'quittance.request_id': request.id,
      },
    })
    request.setDecorator(SPAN, span)
    request.log = request.log.child({ trace_id: span.traceId })
    reply.log = request.log
    reply.header(TRACE_HEADER, span.traceId)
    reply.raw.once('close', () => endOf(span, request, reply))
  })
}

function endOf(span: Span, request: FastifyRequest, { raw }: FastifyReply): void {
  // A flood leaves no spans behind, as it leaves no lines in the log.
  if (isUnlogged(request)) return
  if (raw.writableFinished) {
    span.set({ 'http.response.status_code': raw.statusCode })
    if (raw.statusCode >= 500) span.fail(String(raw.statusCode))
  } else {
    span.fail('disconnected', 'The client has gone before its answer was sent.')
  }
  span.end()
}

/** The bare id, as logs and searches have it. The header `traceresponse` of W3C is a draft. */
const TRACE_HEADER = 'x-trace-id'

/** They come every few seconds, from tools that look for no trace. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const SPAN = 'quittanceSpan'

/** Undefined where traces are off. */
export function spanOf(request: FastifyRequest): Span | undefined {
  return request.getDecorator<Span | undefined>(SPAN)
}
