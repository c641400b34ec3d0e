import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyInstance } from 'fastify'

import { RequestError } from '../wire/errors.ts'

/** What outside parties and payers ask of us without a credential. */
export type GatewayDoor = {
  /** `unknown`: no such gateway. `refused`: a forgery, or too old. */
  receive: (
    gatewayId: number,
    webhook: { headers: IncomingHttpHeaders; body: Buffer },
  ) => Promise<'received' | 'unknown' | 'refused'>
  /** The page of a charge at our own checkout; undefined where there is none. */
  checkoutPage: (chargeId: string) => Promise<string | undefined>
}

/**
 * Where gateways tell of changes. The signature is checked over the bytes as they came, so the body
 * is read by nobody before.
 */
export function addGatewayRoutes(server: FastifyInstance, door: GatewayDoor): void {
  server.post<{ Params: { gateway_id: string } }>(
    '/webhooks/gateways/:gateway_id',
    async ({ params, headers, body }, reply) => {
      const id = /^[1-9][0-9]{0,8}$/.test(params.gateway_id) ? Number(params.gateway_id) : 0
      const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      const verdict = await door.receive(id, { headers, body: bytes })
      if (verdict === 'unknown')
        throw new RequestError('not_found', 'There is nothing at this path.')
      if (verdict === 'refused') {
        throw new RequestError('invalid_request', 'The signature is missing, wrong or too old.')
      }
      return reply.code(200).send({ received: true })
    },
  )
  server.get<{ Params: { charge_id: string } }>(
    '/checkout/:charge_id',
    async ({ params }, reply) => {
      const page = await door.checkoutPage(params.charge_id)
      if (page === undefined) throw new RequestError('not_found', 'There is no such charge.')
      return reply
        .header('content-security-policy', PAGE_POLICY)
        .header('cache-control', 'no-store')
        .header('referrer-policy', 'no-referrer')
        .type('text/html; charset=utf-8')
        .send(page)
    },
  )
}

/** The page is text and a picture that is part of it; nothing of it runs, and nobody frames it. */
const PAGE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
