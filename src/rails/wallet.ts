import { createGate } from '../base/gate.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../domain/money.ts'
import type { Charge } from '../store/rails/charges.ts'
import type { ChargeView, GatewayAdapter, GatewayNews, RefundView, Webhook } from './gateway.ts'
import {
  askForJson,
  codeFrom,
  objectAt,
  objectsAt,
  parseObject,
  RailError,
  requireSame,
  textAt,
  type Fields,
  type Reply,
} from './reply.ts'

export type WalletSettings = {
  url: string
  clientId: string
  clientSecret: string
  webhookId: string
  /** Where the payer comes back to. */
  returnUrl: () => string
  timeoutMs?: number
  now: () => Date
}

/** A wallet checkout in the format of PayPal's orders: the payer approves, and we capture. */
export function createWallet(settings: WalletSettings): GatewayAdapter {
  const ask = createAsk(settings)
  const gate = createGate(ASKED_AT_ONCE)
  return {
    kind: 'wallet_checkout',
    create: async (charge, signal) => {
      const json = orderOf(charge, settings.returnUrl())
      const key = charge.transactionId
      const reply = await ask('/v2/checkout/orders', { json, key, signal })
      if (reply.status !== 200 && reply.status !== 201) throw refusalOf(reply)
      return viewOf(reply.body, charge, settings)
    },
    read: async (charge, signal) => {
      const path = `/v2/checkout/orders/${encodeURIComponent(charge.externalId)}`
      const reply = await ask(path, { signal })
      const { captureId } = charge
      if (isGone(reply) && captureId === undefined) return goneView(charge.externalId)
      if (reply.status !== 200) throw refusalOf(reply)
      const view = viewOf(reply.body, charge, settings)
      if (view.gatewayStatus !== 'APPROVED') return view
      const key = `${charge.transactionId}-capture`
      const captured = await ask(`${path}/capture`, { json: {}, key, signal })
      // A wallet that declines leaves the order as it is, for the payer to choose another.
      if (captured.status === 422) return { ...view, errorCode: issueOf(captured) }
      if (captured.status !== 200 && captured.status !== 201) throw refusalOf(captured)
      return viewOf(captured.body, charge, settings)
    },
    refund: async (charge, refund, signal) => {
      const { captureId } = charge
      if (captureId === undefined) throw new RailError('rail_unknown', 'no_capture')
      const path = `/v2/payments/captures/${encodeURIComponent(captureId)}/refund`
      const value = { amount: refund.amount, currency: charge.currency }
      const amount = { value: valueOf(value), currency_code: charge.currency }
      // The whole needs no amount.
      const part = refund.amount === charge.amount ? {} : { amount }
      const json = { custom_id: refund.refundId, ...part }
      // The same key again returns the current state of the same refund.
      const reply = await ask(path, { json, key: refund.refundId, signal })
      if (reply.status !== 200 && reply.status !== 201) throw refusalOf(reply)
      return refundViewOf(reply.body, value)
    },
    verify: async (webhook, { signal, isExpected }) => {
      const claim = claimOf(webhook, settings)
      if (claim === undefined) return undefined
      const news = newsOf(claim)
      if (!(await isExpected(news))) return undefined
      const seen = await gate.run(async () => isGenuine(claim, { ask, settings, signal }))
      if (seen === undefined) throw new RailError('rail_unknown', 'too_many_at_once')
      return seen.value ? news : undefined
    },
  }
}

/**
 * Anyone who knows an open payment can make us ask the gateway about it. The gateway repeats a
 * webhook that is lost.
 */
const ASKED_AT_ONCE = { width: 4, maxWaiting: 32 }

type Ask = (
  path: string,
  options: { json?: object; text?: string; key?: string; signal: AbortSignal },
) => Promise<Reply>

/** Calls with a token that is asked for when there is none, or none that lives long enough. */
function createAsk(settings: WalletSettings): Ask {
  const { url, clientId, clientSecret, timeoutMs, now } = settings
  const bounds = timeoutMs === undefined ? {} : { timeoutMs }
  let token: { text: string; until: number } | undefined
  const login = async (signal: AbortSignal): Promise<string> => {
    if (token !== undefined && now().getTime() < token.until) return token.text
    const pair = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const { status, body } = await askForJson({
      url: `${url}/v1/oauth2/token`,
      headers: {
        authorization: `Basic ${pair}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      text: 'grant_type=client_credentials',
      signal,
      ...bounds,
    })
    const text = textAt(body, 'access_token', 4096)
    if (status !== 200 || text === undefined) throw new RailError('rail_unknown', 'no_token')
    const seconds = Number(body['expires_in']) || 0
    token = { text, until: now().getTime() + Math.max(seconds - 60, 0) * 1000 }
    return text
  }
  return async (path, { json, text, key, signal }) => {
    const headers = {
      authorization: `Bearer ${await login(signal)}`,
      prefer: 'return=representation',
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'paypal-request-id': key }),
    }
    const body = { ...(json && { json }), ...(text !== undefined && { text }) }
    const call = { url: url + path, headers, signal, ...body, ...bounds }
    return askForJson(call).catch((error: unknown) => {
      // A token may have been revoked; the next call asks for another.
      token = undefined
      throw error
    })
  }
}

function orderOf(charge: Charge, returnUrl: string): object {
  return {
    intent: 'CAPTURE',
    purchase_units: [
      {
        custom_id: charge.transactionId,
        description: charge.description.slice(0, 127),
        amount: { currency_code: charge.currency, value: valueOf(charge) },
      },
    ],
    application_context: {
      user_action: 'PAY_NOW',
      shipping_preference: 'NO_SHIPPING',
      return_url: returnUrl,
      cancel_url: returnUrl,
    },
  }
}

type Value = Pick<Charge, 'amount' | 'currency'>

function valueOf({ amount, currency }: Value): string {
  return formatAmount({ amount, decimals: CURRENCY_DECIMALS[currency], minDecimals: 2 })
}

function viewOf(order: Fields, charge: Charge, settings: WalletSettings): ChargeView {
  const externalId = textAt(order, 'id')
  if (externalId === undefined) throw new RailError('rail_reply_wrong', 'id')
  if (charge.externalId !== undefined) requireSame(order, 'id', charge.externalId)
  const units = objectsAt(order, 'purchase_units')
  const [unit] = units
  if (unit === undefined || units.length !== 1) throw new RailError('rail_reply_wrong', 'units')
  requireSame(unit, 'custom_id', charge.transactionId)
  requireAmount(unit, charge)
  const gatewayStatus = textAt(order, 'status', 64) ?? ''
  const [capture] = objectsAt(objectAt(unit, 'payments'), 'captures')
  if (capture !== undefined) requireAmount(capture, charge)
  const status = gatewayStatus === 'COMPLETED' ? statusOf(capture) : STATUSES[gatewayStatus]
  if (status === undefined) throw new RailError('rail_reply_wrong', 'status')
  const captured = textAt(capture, 'status')
  return {
    status,
    externalId,
    gatewayStatus,
    captureId: textAt(capture, 'id'),
    url: approvalOf(order, settings),
    errorCode: status === 'failed' ? codeFrom(captured ?? gatewayStatus, 'failed') : undefined,
  }
}

/** An order is called completed as soon as it was captured, whatever came of the capture. */
function statusOf(capture: Fields | undefined): ChargeView['status'] | undefined {
  return CAPTURES[textAt(capture, 'status') ?? '']
}

const CAPTURES: Readonly<Record<string, ChargeView['status']>> = {
  COMPLETED: 'completed',
  REFUNDED: 'completed',
  PARTIALLY_REFUNDED: 'completed',
  PENDING: 'processing',
  DECLINED: 'failed',
  FAILED: 'failed',
}

const STATUSES: Readonly<Record<string, ChargeView['status']>> = {
  CREATED: 'pending',
  SAVED: 'pending',
  PAYER_ACTION_REQUIRED: 'pending',
  APPROVED: 'processing',
  VOIDED: 'failed',
}

function requireAmount(fields: Fields, wanted: Value): void {
  const amount = objectAt(fields, 'amount') ?? {}
  requireSame(amount, 'value', valueOf(wanted))
  requireSame(amount, 'currency_code', wanted.currency)
}

/** Payers are sent to the gateway itself, and to nobody whom a reply may name. */
function approvalOf(order: Fields, settings: WalletSettings): string | undefined {
  const links = objectsAt(order, 'links')
  const link = links.find(({ rel }) => rel === 'approve' || rel === 'payer-action')
  const href = textAt(link, 'href', 2048)
  if (href === undefined) return undefined
  if (!isAtGateway(href, settings)) throw new RailError('rail_reply_wrong', 'links')
  return href
}

function isAtGateway(href: string, settings: WalletSettings): boolean {
  const to = URL.parse(href)
  const isPaypal = to?.protocol === 'https:' && /(^|\.)paypal\.com$/.test(to.hostname)
  return isPaypal || to?.origin === new URL(settings.url).origin
}

/** Orders that nobody approves, or that were approved and not captured, are forgotten in time. */
function isGone({ status, body }: Reply): boolean {
  return status === 404 && textAt(body, 'name') === 'RESOURCE_NOT_FOUND'
}

function goneView(externalId: string): ChargeView {
  return { status: 'failed', externalId, gatewayStatus: 'EXPIRED', errorCode: 'expired' }
}

function refundViewOf(refund: Fields, value: Value): RefundView {
  requireAmount(refund, value)
  const status = textAt(refund, 'status') ?? ''
  const failed = status === 'FAILED' || status === 'CANCELLED'
  return {
    state: status === 'COMPLETED' ? 'completed' : failed ? 'failed' : 'pending',
    externalId: textAt(refund, 'id'),
    errorCode: failed ? codeFrom(status, 'failed') : undefined,
  }
}

function issueOf({ body }: Reply): string {
  return codeFrom(textAt(objectsAt(body, 'details')[0], 'issue'), 'declined')
}

/** Only an error in the gateway's own form is a refusal. */
function refusalOf(reply: Reply): RailError {
  const name = textAt(reply.body, 'name')
  const isRefusal = [400, 404, 422].includes(reply.status) && REFUSALS.has(name ?? '')
  return isRefusal
    ? new RailError('rail_refused', issueOf(reply))
    : new RailError('rail_unknown', `status_${reply.status}`)
}

const REFUSALS: ReadonlySet<string> = new Set([
  'INVALID_REQUEST',
  'RESOURCE_NOT_FOUND',
  'UNPROCESSABLE_ENTITY',
])

type Claim = { event: Fields; text: string; signature: Record<string, string> }

/** Undefined for what cannot be the gateway's own, so that it is not asked about that. */
function claimOf({ headers, body }: Webhook, settings: WalletSettings): Claim | undefined {
  const text = body.toString('utf8')
  const event = parseObject(text)
  const signature: Record<string, string> = {}
  for (const name of ['auth_algo', 'cert_url', 'transmission_id', 'transmission_sig'] as const) {
    const value = headers[`paypal-${name.replace('_', '-')}`]
    if (typeof value !== 'string') return undefined
    signature[name] = value
  }
  const sentAt = headers['paypal-transmission-time']
  if (event === undefined || typeof sentAt !== 'string') return undefined
  const ageMs = settings.now().getTime() - Date.parse(sentAt)
  const isRecent = ageMs > -MAX_AHEAD_MS && ageMs < MAX_AGE_MS
  if (!isRecent || !isAtGateway(signature['cert_url'] ?? '', settings)) return undefined
  return { event, text, signature: { ...signature, transmission_time: sentAt } }
}

/** The gateway repeats a message for three days. */
const MAX_AGE_MS = 4 * 24 * 3_600_000
const MAX_AHEAD_MS = 15 * 60_000

/** The gateway itself is asked whether the message is its own, over the bytes as they came. */
async function isGenuine(
  { text, signature }: Claim,
  { ask, settings, signal }: { ask: Ask; settings: WalletSettings; signal: AbortSignal },
): Promise<boolean> {
  const claim = JSON.stringify({ ...signature, webhook_id: settings.webhookId })
  const asked = `${claim.slice(0, -1)},"webhook_event":${text}}`
  const reply = await ask('/v1/notifications/verify-webhook-signature', { text: asked, signal })
  return reply.status === 200 && reply.body['verification_status'] === 'SUCCESS'
}

function newsOf({ event }: Claim): GatewayNews {
  const resource = objectAt(event, 'resource')
  const related = objectAt(objectAt(resource, 'supplementary_data'), 'related_ids')
  const [unit] = objectsAt(resource, 'purchase_units')
  return {
    externalId: textAt(related, 'order_id') ?? textAt(resource, 'id'),
    transactionId: textAt(resource, 'custom_id') ?? textAt(unit, 'custom_id'),
    disputeId: undefined,
  }
}
