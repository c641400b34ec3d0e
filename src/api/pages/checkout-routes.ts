import type { FastifyInstance } from 'fastify'

import { RequestError } from '../../wire/errors.ts'
import { CHECKOUT_UNKNOWN, shellOf, type PageFiles } from './shells.ts'

/** The inside of a charge's page; `state` changes whenever the page says something else. */
export type CheckoutPageOf = (
  chargeId: string,
) => Promise<{ title: string; body: string; state: string } | undefined>

/**
 * Where a payer sees what to pay. The page says all without a program; with its program it says by
 * itself when that has changed.
 */
export function addCheckoutRoutes(
  server: FastifyInstance,
  options: { pageOf: CheckoutPageOf; loadPages: () => Promise<PageFiles> },
): void {
  const { pageOf, loadPages } = options
  server.get<Charge>('/checkout/:charge_id', async ({ params }, reply) => {
    const { entries } = await loadPages()
    const page = await find(pageOf, params)
    const { title, body } = page ?? { title: 'Payment', body: CHECKOUT_UNKNOWN }
    return reply
      .code(page ? 200 : 404)
      .header('content-security-policy', POLICY)
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'no-referrer')
      .header('x-robots-tag', 'noindex')
      .type('text/html; charset=utf-8')
      .send(shellOf({ title, entry: entries.checkout, body, runs: page !== undefined }))
  })
  server.get<Charge>('/checkout/:charge_id/state.json', async ({ params }, reply) => {
    const page = await find(pageOf, params)
    if (!page) throw new RequestError('not_found', 'There is no such charge.')
    return reply.header('cache-control', 'no-store').send({ state: page.state })
  })
}

type Charge = { Params: { charge_id: string } }

async function find(pageOf: CheckoutPageOf, { charge_id: id }: Charge['Params']) {
  return /^REF[0-9]{20}$/.test(id) ? pageOf(id) : undefined
}

/** What a caller has written stands in the page, so nothing but our own files may run or load. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
