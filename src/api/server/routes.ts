import type { FastifyInstance } from 'fastify'

import { RequestError } from '../../wire/errors.ts'
import { setCommonHeaders } from './headers.ts'
import { isUnlogged } from './request-logger.ts'

/**
 * What every request passes first: its id, the headers that all answers carry, and the ways out for
 * those that no route serves.
 */
export function addRouteGuard(
  server: FastifyInstance,
  options: { isStopping: () => boolean; isClosing?: () => boolean },
): void {
  const routes: Route[] = []
  server.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${escapePattern(url).replaceAll(/:\w+/g, '[^/]+')}$`)
    routes.push({ url, pattern, methods: [method].flat() })
  })
  const { isStopping, isClosing = isStopping } = options
  server.addHook('onRequest', async (request, reply) => {
    setCommonHeaders(request, reply)
    // The next request comes by a new connection, which the balancer in front takes elsewhere.
    if (isStopping()) reply.header('connection', 'close')
    if (request.is404 || hasEmptyParameter(request.params)) {
      const path = request.url.split('?', 1)[0] ?? ''
      const allowed = allowedMethods(routes, path)
      if (allowed.length === 0)
        throw new RequestError('not_found', 'Nothing is at this path. Check it.')
      const allow = [...allowed, 'OPTIONS'].join(', ')
      if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send()
      const sentence = `This path does not support ${request.method}. Use ${allow}.`
      throw new RequestError('method_not_allowed', sentence, { headers: { allow } })
    }
    if (isClosing() && !SERVED_TO_THE_END.has(request.routeOptions.url ?? '')) {
      throw new RequestError('unavailable', 'The program is stopping. Try again in a moment.')
    }
    return undefined
  })
  server.addHook('onResponse', async (request, reply) => {
    if (isUnlogged(request)) return
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        elapsedMs: Math.round(reply.elapsedTime * 100) / 100,
      },
      'answered',
    )
  })
}

/** Operators and balancers ask these while a server drains, until it is gone. */
const SERVED_TO_THE_END: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

type Route = { url: string; pattern: RegExp; methods: string[] }

/** The router lets a parameter be empty, as in a path that ends in a slash. */
function hasEmptyParameter(params: unknown): boolean {
  for (const value of Object.values(params ?? {})) if (value === '') return true
  return false
}

function allowedMethods(routes: readonly Route[], path: string): string[] {
  const methods = routes.filter((route) => route.pattern.test(path)).flatMap((one) => one.methods)
  return [...new Set(methods)].toSorted()
}

function escapePattern(url: string): string {
  return url.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
