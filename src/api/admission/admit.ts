import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { mayUse, type Caller } from '../../domain/access.ts'
import { RequestError } from '../../wire/errors.ts'
import { doorOf } from '../door/door.ts'
import type { Endpoint, EndpointHooks } from './endpoint.ts'

const CALLER = 'quittanceCaller'

export function addCaller(server: FastifyInstance): void {
  server.decorateRequest(CALLER, undefined)
}

/** Who asks; undefined in a public operation. */
export function callerOf(request: FastifyRequest): Caller | undefined {
  return request.getDecorator<Caller | undefined>(CALLER)
}

/** Everything that can be refused by the headers is, before the body is read. */
export function createAdmit(endpoint: Endpoint, hooks: EndpointHooks) {
  const { access, method } = endpoint
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const remoteAddress = request.ip
    if (access === 'public') {
      reply.headers(await hooks.limitRate({ endpoint, remoteAddress }))
    } else {
      const authenticate = () => hooks.authenticate(request.headers, remoteAddress)
      const caller = await doorOf(request.server).pass(request, authenticate)
      reply.headers(await hooks.limitRate({ caller, endpoint, remoteAddress }))
      if (!mayUse(caller, access)) throw forbidden(access)
      request.setDecorator(CALLER, caller)
    }
    if (method !== 'GET') checkMediaType(request.headers)
  }
}

/** Who asks as things stand now, for what goes on; undefined where access has ended meanwhile. */
export async function callerNow(
  request: FastifyRequest,
  endpoint: Endpoint,
  hooks: EndpointHooks,
): Promise<Caller | undefined> {
  try {
    const caller = await hooks.authenticate(request.headers, request.ip)
    return endpoint.access !== 'public' && mayUse(caller, endpoint.access) ? caller : undefined
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

/** Refuses, before the body is read, what is not declared as JSON in UTF-8. */
function checkMediaType(headers: IncomingHttpHeaders): void {
  const hasBody =
    headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  const type = headers['content-type']
  if (!hasBody && type === undefined) return
  const encoding = headers['content-encoding'] ?? 'identity'
  if (type === undefined || !JSON_TYPE.test(type) || encoding.toLowerCase() !== 'identity') {
    throw new RequestError(
      'unsupported_media_type',
      'The body must be JSON in UTF-8, not compressed. Send it as Content-Type: application/json.',
    )
  }
}

/**
 * One grammar, so that no two readers of the header can disagree on it: a tab or a second parameter
 * has hidden a body from checks before.
 */
const JSON_TYPE = /^application\/json *(?:; *charset=(?:utf-8|"utf-8") *)?$/i

export function forbidden(scope: string): RequestError {
  return new RequestError('forbidden', `The credential lacks the scope ${scope}. Use another one.`)
}
