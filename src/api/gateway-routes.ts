import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyInstance } from 'fastify'
import { Counter, type Registry } from 'prom-client'

import { RequestError } from '../wire/errors.ts'
import type { DoorConfig } from './door/door.ts'
import type { CheckoutPageOf } from './pages/pages.ts'
import { leaveUnlogged } from './server/request-logger.ts'

/** What outside parties and payers ask of us without a credential. */
export type GatewayDoor = {
  /** `unknown`: no such gateway. `refused`: a forgery, or too old. */
  receive: (
    gatewayId: number,
    webhook: { headers: IncomingHttpHeaders; body: Buffer },
  ) => Promise<'received' | 'unknown' | 'refused'>
  /** The page of a charge at our own checkout; undefined where there is none. */
  checkoutPage: CheckoutPageOf
}

/**
 * The routes on which gateways report changes. The signature is checked over the bytes as they
 * arrived, so nothing parses the body before.
 */
export function addGatewayRoutes(
  server: FastifyInstance,
  { door, registry }: { door: GatewayDoor; registry: Registry },
): void {
  const refused = new Counter({
    name: 'quittance_gateway_webhooks_refused_total',
    help: 'Messages to gateway webhooks that were forged, too old or for an unknown gateway',
    labelNames: ['gateway'],
    registers: [registry],
  })
  server.post<{ Params: { gateway_id: string } }>(
    '/webhooks/gateways/:gateway_id',
    { config: { lane: 'outside' } satisfies DoorConfig },
    async (request, reply) => {
      const { params, headers, body } = request
      const id = /^[1-9][0-9]{0,8}$/.test(params.gateway_id) ? Number(params.gateway_id) : 0
      const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      const verdict = await door.receive(id, { headers, body: bytes })
      if (verdict !== 'received') {
        // Anybody can send any number of them.
        leaveUnlogged(request)
        refused.inc({ gateway: verdict === 'unknown' ? 'none' : id })
      }
      if (verdict === 'unknown')
        throw new RequestError('not_found', 'Nothing is at this path. Check it.')
      if (verdict === 'refused') {
        throw new RequestError(
          'invalid_request',
          'The signature is missing, wrong or too old. Check the secret and the clock.',
        )
      }
      return reply.code(200).send({ received: true })
    },
  )
}
