import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

import { limits } from '../../base/limits.ts'
import type { Logger } from '../../base/logger.ts'
import type { Tracing } from '../../base/tracing/tracing.ts'
import type { Endpoint, EndpointHooks } from '../admission/endpoint.ts'
import { addEndpoints } from '../admission/endpoints.ts'
import { addDocsRoutes } from '../docs/docs.ts'
import { addDoor, type LaneWidths } from '../door/door.ts'
import { addGatewayRoutes, type GatewayDoor } from '../gateway-routes.ts'
import { addHealthRoutes, type HealthCheck } from '../health.ts'
import { addMetricsRoute, requireAdmin, type MayRead } from '../metrics.ts'
import { addPageRoutes, type PagesOptions } from '../pages/pages.ts'
import { addBodyParser } from './body.ts'
import { addDeadlines } from './deadline.ts'
import { answerBrokenRequest, answerFailure } from './errors.ts'
import { requestIdOf } from './headers.ts'
import { addListeners } from './listen.ts'
import { createRequestLogger } from './request-logger.ts'
import { addRouteGuard } from './routes.ts'
import { addTraces } from './traces.ts'

export type StatusServerOptions = {
  logger: Logger
  /** What `/metrics` shows. */
  registry: Registry
  /** Where the server counts its own requests; absent: in what it shows. */
  ownRegistry?: Registry
  checks: () => readonly HealthCheck[]
  /** What `/readyz` says in addition to its status. */
  warnings?: readonly string[]
  /** Whether `/readyz` sends balancers away. */
  isStopping: () => boolean
  /** Whether nothing new is begun any more; absent: from the stop on. */
  isClosing?: () => boolean
  /** How long a request may take to arrive; a test has less patience. */
  requestTimeoutMs?: number
  /** Rejects who may not read the metrics; absent: everybody may. */
  mayRead?: MayRead
  handlerTimeoutMs?: number
  /** Requests at work at once; a test has fewer. */
  lanes?: Partial<LaneWidths>
}

export type ServerOptions = Omit<StatusServerOptions, 'mayRead'> & {
  /** Only administrators may read the metrics here. */
  hasPrivateMetrics?: boolean
  endpoints: readonly Endpoint[]
  hooks: EndpointHooks
  /** Absent: no gateway tells us anything. */
  door?: GatewayDoor
  /** Absent: no request is traced. */
  tracing?: Tracing | undefined
  /** Absent where nobody looks. */
  pages?: PagesOptions
  /** Addresses and networks that may say on whose behalf they ask; by default nobody may. */
  trustedProxies?: readonly string[]
}

export function createServer(options: ServerOptions): FastifyInstance {
  const mayRead = options.hasPrivateMetrics && requireAdmin(options.hooks)
  const server = createBareServer({ ...options, ...(mayRead && { mayRead }) })
  addBodyParser(server)
  addDocsRoutes(server, options.endpoints)
  if (options.door) addGatewayRoutes(server, { ...options, door: options.door })
  if (options.pages) addPageRoutes(server, options.pages, options.door?.checkoutPage)
  addEndpoints(server, options.endpoints, options.hooks)
  return server
}

/** Only what an operator's tools ask: whether the process lives, is ready, and what it counts. */
export function createStatusServer(options: StatusServerOptions): FastifyInstance {
  return createBareServer({ ...options, tracing: undefined })
}

function createBareServer(
  options: StatusServerOptions & Pick<ServerOptions, 'trustedProxies' | 'tracing'>,
): FastifyInstance {
  const { trustedProxies = [] } = options
  const loggerInstance: FastifyBaseLogger = options.logger
  const requestTimeout = options.requestTimeoutMs ?? limits.requestTimeoutMs
  const server = fastify({
    loggerInstance,
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
    childLoggerFactory: (_logger, bindings) => createRequestLogger(options.logger, bindings),
    genReqId: (request) => requestIdOf(request.headers),
    // The caller has the nearest address in X-Forwarded-For that is not a trusted proxy.
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: limits.requestBodyBytes,
    // Every id has a shape of its own. A path that the router gave up on would be a 404, whatever
    // the method.
    routerOptions: { maxParamLength: limits.requestHeaderBytes },
    requestTimeout,
    forceCloseConnections: 'idle',
    // The guard answers while the program stops, in our own words.
    return503OnClosing: false,
    http: {
      maxHeaderSize: limits.requestHeaderBytes,
      // Node swaps the two limits when that of the headers is the longer one, as its default is: a
      // body could then trickle in for a minute.
      headersTimeout: requestTimeout,
      requestTimeout,
      // Node looks for requests that take too long only this often.
      connectionsCheckingInterval: limits.requestTimeoutCheckMs,
    },
    frameworkErrors: answerFailure,
    clientErrorHandler: answerBrokenRequest,
  })
  server.setErrorHandler(answerFailure)
  addListeners(server)
  addDeadlines(server, options.handlerTimeoutMs ?? limits.handlerTimeoutMs)
  addTraces(server, options.tracing)
  addRouteGuard(server, options)
  const ownRegistry = options.ownRegistry ?? options.registry
  addDoor(server, { ...options, registry: ownRegistry })
  addMetricsRoute(server, { ...options, ownRegistry })
  addHealthRoutes(server, options)
  return server
}
