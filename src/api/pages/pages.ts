import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { once } from '../../base/cache.ts'
import type { Db } from '../../store/database/database.ts'
import { findPaid, findReceipt, type PaidOnChain } from '../../store/transactions/receipts.ts'
import { amountFields } from '../../wire/amounts.ts'
import { RequestError } from '../../wire/errors.ts'
import type { ReceiptFactsWire } from '../../wire/group-b/admin.ts'
import { stringifyJson } from '../../wire/json.ts'
import {
  CHECKOUT_UNKNOWN,
  consoleShell,
  RECEIPT_UNKNOWN,
  shellOf,
  type PageFiles,
} from './shells.ts'
import { createStaticFile, type StaticFile } from './static-file.ts'

/** The inside of a charge's page; `state` changes whenever the page says something else. */
export type CheckoutPageOf = (
  chargeId: string,
) => Promise<{ title: string; body: string; state: string } | undefined>

export type PagesOptions = {
  db: Db
  /** Builds or reads them when somebody first asks. */
  loadPages: () => Promise<PageFiles>
  /** The sandbox's own node of a chain, which a visitor on the same machine can ask. */
  visitorRpcUrl: (chain: string | null) => string | undefined
}

/** The console, the receipts that payees were given, and the pages on which payers pay. */
export function addPageRoutes(
  server: FastifyInstance,
  options: PagesOptions,
  checkoutPageOf?: CheckoutPageOf,
): void {
  const loadPages = once(options.loadPages)
  if (checkoutPageOf) addCheckoutRoutes(server, { pageOf: checkoutPageOf, loadPages })
  // A browser asks for HTML; a program gets the answer for a path without anything.
  server.get('/', async (request, reply) => {
    if (!/\btext\/html\b/.test(request.headers.accept ?? ''))
      throw new RequestError('not_found', 'Nothing is at this path. Check it.')
    return reply.header('vary', 'accept').redirect('/console')
  })
  for (const url of ['/console', '/console/']) {
    server.get(url, async (_request, reply) => {
      const { entries } = await loadPages()
      return sendPage(reply, { policy: CONSOLE_POLICY, body: consoleShell(entries.console) })
    })
  }
  const files = new Map<string, StaticFile>()
  server.get<{ Params: { name: string } }>('/console/assets/:name', async (request, reply) => {
    const { name } = request.params
    const asset = (await loadPages()).assets.get(name)
    if (!asset)
      throw new RequestError('not_found', 'This file does not exist. Load the page again.')
    const { type, body } = asset
    const cacheControl = 'public, max-age=31536000, immutable'
    const file = files.get(name) ?? createStaticFile({ type, cacheControl, load: async () => body })
    files.set(name, file)
    return file.send(request, reply)
  })
  addReceiptRoutes(server, { ...options, loadPages })
}

type Receipts = { Params: { token: string } }

function addReceiptRoutes(server: FastifyInstance, options: PagesOptions): void {
  const { db, loadPages } = options
  const find = (request: FastifyRequest<Receipts>) => {
    const { token } = request.params
    return TOKEN.test(token) ? findReceipt(db, token) : undefined
  }
  server.get<Receipts>('/r/:token', async (request, reply) => {
    const { entries } = await loadPages()
    const body = (await find(request)) ? undefined : RECEIPT_UNKNOWN
    return sendPage(reply.code(body === undefined ? 200 : 404), {
      policy: RECEIPT_POLICY,
      body: shellOf({
        title: 'Receipt',
        entry: entries.receipt,
        ...(body !== undefined && { body }),
      }),
    })
  })
  server.get<Receipts>('/r/:token/receipt.json', async (request, reply) => {
    const receipt = await find(request)
    if (!receipt) throw new RequestError('not_found', 'No receipt has this address.')
    const { transaction } = receipt
    const paid = await findPaid(db, transaction.transactionId)
    const facts: ReceiptFactsWire = {
      success: true,
      transaction_id: transaction.transactionId,
      ...amountFields(transaction),
      currency: transaction.currency,
      token_decimals: transaction.tokenDecimals,
      description: transaction.description,
      status: transaction.status,
      eth_transaction_hash: transaction.ethTransactionHash,
      created_at: transaction.createdAt.toISOString(),
      rpc_url: options.visitorRpcUrl(transaction.chain) ?? null,
      paid: paid ? paidOnWire(paid) : null,
    }
    return reply.type('application/json; charset=utf-8').send(stringifyJson(facts))
  })
  server.get<Receipts>('/r/:token/quittance.json', async (request, reply) => {
    const receipt = await find(request)
    if (!receipt) throw new RequestError('not_found', 'No receipt has this address.')
    return reply
      .type('application/json; charset=utf-8')
      .header(
        'content-disposition',
        `attachment; filename="quittance-${receipt.transactionId}.json"`,
      )
      .send(receipt.quittance)
  })
}

function paidOnWire({ payee, amount, ...paid }: PaidOnChain): ReceiptFactsWire['paid'] {
  const { token = null, reference = null, contract = null } = paid
  return { to_address: payee, amount_units: String(amount), token, reference, contract }
}

/**
 * Where a payer sees what to pay. The page says all without a program; with its program it says by
 * itself when that has changed.
 */
function addCheckoutRoutes(
  server: FastifyInstance,
  options: { pageOf: CheckoutPageOf; loadPages: () => Promise<PageFiles> },
): void {
  const { pageOf, loadPages } = options
  server.get<Charge>('/checkout/:charge_id', async ({ params }, reply) => {
    const { entries } = await loadPages()
    const page = await findPage(pageOf, params)
    const { title, body } = page ?? { title: 'Payment', body: CHECKOUT_UNKNOWN }
    return reply
      .code(page ? 200 : 404)
      .header('content-security-policy', CHECKOUT_POLICY)
      .header('x-robots-tag', 'noindex')
      .type('text/html; charset=utf-8')
      .send(shellOf({ title, entry: entries.checkout, body, runs: page !== undefined }))
  })
  server.get<Charge>('/checkout/:charge_id/state.json', async ({ params }, reply) => {
    const page = await findPage(pageOf, params)
    if (!page) throw new RequestError('not_found', 'No payment has this address.')
    return reply.send({ state: page.state })
  })
}

type Charge = { Params: { charge_id: string } }

async function findPage(pageOf: CheckoutPageOf, { charge_id: id }: Charge['Params']) {
  return /^REF[0-9]{20}$/.test(id) ? pageOf(id) : undefined
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/

const SHARED_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No text can become markup: the browser itself refuses every way that there is.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]
const CONSOLE_POLICY = [...SHARED_POLICY, "connect-src 'self'"].join('; ')
/** The visitor chooses whom to ask of the chain, so any node over TLS will do, and one's own. */
const RECEIPT_POLICY = [
  ...SHARED_POLICY,
  "connect-src 'self' https: http://127.0.0.1:* http://localhost:*",
].join('; ')

/** The page contains text of a caller, so only our own files may run or load. */
const CHECKOUT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

function sendPage(reply: FastifyReply, page: { policy: string; body: string }): FastifyReply {
  return reply
    .header('content-security-policy', page.policy)
    .header('cross-origin-opener-policy', 'same-origin')
    .header('x-robots-tag', 'noindex')
    .type('text/html; charset=utf-8')
    .send(page.body)
}
