import type { FastifyInstance, FastifyRequest } from 'fastify'

import { RequestError } from '../../wire/errors.ts'

/**
 * Gives each request one limit, from its headers to its answer. The framework's own ends when the
 * body has been read.
 */
export function addDeadlines(server: FastifyInstance, handlerTimeoutMs: number): void {
  server.decorateRequest(DEADLINE, undefined)
  server.addHook('onRequest', async (request, reply) => {
    const controller = new AbortController()
    request.setDecorator(DEADLINE, controller.signal)
    const { deadlineMs = handlerTimeoutMs } = request.routeOptions.config as RouteLimit
    const timer = setTimeout(() => {
      const error = tookTooLong()
      controller.abort(error)
      if (reply.sent) return
      if (reply.raw.headersSent) reply.raw.destroy()
      else void reply.send(error)
    }, deadlineMs)
    // The work of a client that has gone keeps its limit, and does not keep the program.
    timer.unref()
    reply.raw.once('finish', () => clearTimeout(timer))
  })
}

/** For the `config` of a route that may take longer than others. */
export type RouteLimit = { deadlineMs?: number }

const DEADLINE = 'quittanceDeadline'

/** Aborts when the caller learns that it took too long; the reason is what the caller gets. */
export function deadlineOf(request: FastifyRequest): AbortSignal {
  return request.getDecorator<AbortSignal>(DEADLINE)
}

export function tookTooLong(): RequestError {
  return new RequestError(
    'unavailable',
    'The answer took too long. Try again in a moment: a POST with its Idempotency-Key, or after ' +
      'checking whether it happened.',
    { headers: { 'retry-after': '1' }, retryable: true },
  )
}
