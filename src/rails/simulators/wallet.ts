import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { parseAmount } from '../../domain/money.ts'
import { escapeHtml } from '../../wire/html.ts'
import { openJournal, type Journal } from './journal.ts'
import type { Simulated, SimulatedReply, SimulatedRequest } from './serve.ts'
import type { WebhookSender } from './webhooks.ts'

export type SimulatedWalletOptions = {
  clientId: string
  clientSecret: string
  webhookId: string
  now: () => number
  dayMs: number
  webhooks: WebhookSender
  folder?: string | undefined
  /** Where payers reach it, known once it listens. */
  url: () => string
}

type Order = {
  id: string
  status: 'CREATED' | 'APPROVED' | 'COMPLETED' | 'VOIDED'
  unit: { custom_id: string; description: string; amount: Amount }
  key: string
  /** The same key again is the same capture, and another one is refused. */
  capture: { id: string; at: number; key?: string } | undefined
  /** Absent: none yet. */
  refunds?: Array<{ id: string; key: string; at: number; amount: Amount }>
}

type Amount = { value: string; currency_code: string }

type World = SimulatedWalletOptions & { orders: Journal<Order> }

/**
 * A wallet in the format of PayPal: as much of it as the adapter and a payer use. Words in the
 * description choose what happens: `silent` makes the order without an answer, `declined` and
 * `slow` are what becomes of the capture, and `twice` doubles the webhooks.
 */
export function createSimulatedWallet(options: SimulatedWalletOptions): Simulated {
  const { folder } = options
  const file = folder && join(folder, 'wallet.jsonl')
  const world: World = { ...options, orders: openJournal<Order>(file) }
  return (request) => {
    if (request.path === '/checkoutnow') return page(world, request)
    if (request.path === '/v1/oauth2/token') return token(world, request)
    if (request.headers['authorization'] !== `Bearer ${tokenOf(world)}`) {
      return failure(401, 'AUTHENTICATION_FAILURE')
    }
    if (request.path === '/v1/notifications/verify-webhook-signature') return verify(world, request)
    const order = /^\/v2\/checkout\/orders(?:\/(\w+))?(\/capture)?$/.exec(request.path)
    if (order?.[1] === undefined && order !== null) return create(world, request)
    const known = world.orders.get(order?.[1] ?? '')
    if (known)
      return order?.[2] ? capture(world, known, request) : { status: 200, json: show(world, known) }
    const captured = /^\/v2\/payments\/captures\/(\w+)\/refund$/.exec(request.path)?.[1]
    const paid = world.orders.find((one) => captured !== undefined && one.capture?.id === captured)
    return paid ? refund(world, paid, request) : failure(404, 'RESOURCE_NOT_FOUND')
  }
}

function tokenOf({ clientSecret }: World): string {
  return createHmac('sha256', clientSecret).update('token').digest('hex')
}

function token(world: World, { headers }: SimulatedRequest): SimulatedReply {
  const pair = Buffer.from(`${world.clientId}:${world.clientSecret}`).toString('base64')
  if (headers['authorization'] !== `Basic ${pair}`) return failure(401, 'invalid_client')
  const json = { access_token: tokenOf(world), token_type: 'Bearer', expires_in: 32_400 }
  return { status: 200, json }
}

function create(world: World, request: SimulatedRequest): SimulatedReply {
  const key = String(request.headers['paypal-request-id'])
  const earlier = world.orders.find((order) => order.key === key)
  if (earlier) return { status: 200, json: show(world, earlier) }
  const { purchase_units: units } = JSON.parse(request.text) as { purchase_units: Order['unit'][] }
  const [unit] = units
  if (unit === undefined) return failure(400, 'INVALID_REQUEST')
  const order = world.orders.put({
    id: randomBytes(8).toString('hex').toUpperCase(),
    status: 'CREATED',
    unit,
    key,
    capture: undefined,
  })
  return has(order, 'silent')
    ? { status: 0, isSilent: true }
    : { status: 201, json: show(world, order) }
}

function capture(world: World, order: Order, { headers }: SimulatedRequest): SimulatedReply {
  const key = String(headers['paypal-request-id'])
  if (order.capture !== undefined) {
    return order.capture.key === key
      ? { status: 200, json: show(world, order) }
      : failure(422, 'UNPROCESSABLE_ENTITY', 'ORDER_ALREADY_CAPTURED')
  }
  if (order.status !== 'APPROVED') return failure(422, 'UNPROCESSABLE_ENTITY', 'ORDER_NOT_APPROVED')
  const made = { id: randomBytes(8).toString('hex').toUpperCase(), at: world.now(), key }
  const captured = world.orders.put({ ...order, status: 'COMPLETED', capture: made })
  const supplementary_data = { related_ids: { order_id: order.id } }
  const resource = { ...captureNow(world, captured), supplementary_data }
  announce(world, captured, { event_type: 'PAYMENT.CAPTURE.COMPLETED', resource })
  return { status: 201, json: show(world, captured) }
}

function refund(world: World, order: Order, request: SimulatedRequest): SimulatedReply {
  const key = String(request.headers['paypal-request-id'])
  const { unit, refunds = [] } = order
  const earlier = refunds.find((refund) => refund.key === key)
  const { amount = unit.amount } = JSON.parse(request.text) as { amount?: Amount }
  const rest = centsOf(unit.amount) - refundedOf(order)
  if (earlier === undefined && rest === 0n) {
    return failure(422, 'UNPROCESSABLE_ENTITY', 'CAPTURE_FULLY_REFUNDED')
  }
  if (earlier === undefined && centsOf(amount) > rest) {
    return failure(422, 'UNPROCESSABLE_ENTITY', 'REFUND_AMOUNT_EXCEEDED')
  }
  const id = randomBytes(8).toString('hex').toUpperCase()
  const made = earlier ?? { id, key, at: world.now(), amount }
  if (earlier === undefined) world.orders.put({ ...order, refunds: [...refunds, made] })
  const status = has(order, 'slow') && isYoung(world, made.at) ? 'PENDING' : 'COMPLETED'
  return { status: 201, json: { id: made.id, status, amount: made.amount } }
}

function refundedOf({ refunds = [] }: Order): bigint {
  return refunds.reduce((sum, { amount }) => sum + centsOf(amount), 0n)
}

function centsOf({ value }: Amount): bigint {
  return parseAmount({ text: value, decimals: 2 })
}

/** What the payer sees: a page with two buttons, which a program may press by a POST. */
function page(world: World, { method, query, text }: SimulatedRequest): SimulatedReply {
  const order = world.orders.get(query.get('token') ?? '')
  if (order === undefined) return { status: 404, html: pageOf('<h1>There is no such order</h1>') }
  const answer = new URLSearchParams(text).get('answer')
  if (method === 'POST' && order.status === 'CREATED') {
    const status = answer === 'approve' ? 'APPROVED' : 'VOIDED'
    const next = world.orders.put({ ...order, status })
    const event_type = answer === 'approve' ? 'CHECKOUT.ORDER.APPROVED' : 'CHECKOUT.ORDER.VOIDED'
    announce(world, next, { event_type, resource: show(world, next) })
    return { status: 200, html: pageOf(`<h1>${sentence(status)}</h1>`) }
  }
  const { amount, description } = order.unit
  const asked = `<p class="amount">${amount.value} ${amount.currency_code}</p>
<p dir="auto">${escapeHtml(description)}</p>`
  if (order.status !== 'CREATED') {
    return { status: 200, html: pageOf(`<h1>${sentence(order.status)}</h1>${asked}`) }
  }
  const buttons = ['approve', 'cancel'].map(
    (name) => `<button name="answer" value="${name}">${sentence(name)}</button>`,
  )
  const form = `<form method="post">${buttons.join(' ')}</form>`
  const told = '<p>Answer in the payer’s place. No money moves.</p>'
  return { status: 200, html: pageOf(`<h1>Simulated wallet</h1>${asked}${told}${form}`) }
}

function sentence(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()
}

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: light-dark(#17201b, #e8eee9);
  background: light-dark(#f5f6f4, #121513); }
main { max-width: 26rem; margin: 12vh auto 0; padding: 0 1rem; }
h1 { font-size: 1.1rem; }
p { overflow-wrap: anywhere; }
.amount { margin: 0; font-size: 2rem; font-weight: 700; }
button { min-height: 40px; padding: 0 1rem; border: 1px solid light-dark(#d5dbd7, #343c37);
  border-radius: 8px; background: none; color: inherit; font: inherit; cursor: pointer; }
button[value='approve'] { border-color: transparent; font-weight: 600;
  background: light-dark(#0b6e4f, #5fd3a6); color: light-dark(#fff, #08231a); }
`

/** What a browser and a screen reader need of any page. */
function pageOf(main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Simulated wallet</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${STYLE}</style>
</head>
<body><main>${main}</main></body>
</html>
`
}

function show(world: World, order: Order): Record<string, unknown> {
  const { id, status, unit } = order
  const payments = order.capture ? { captures: [captureNow(world, order)] } : undefined
  const href = `${world.url()}/checkoutnow?token=${id}`
  return {
    id,
    status,
    intent: 'CAPTURE',
    purchase_units: [{ ...unit, ...(payments && { payments }) }],
    links: status === 'CREATED' ? [{ rel: 'approve', href, method: 'GET' }] : [],
  }
}

function captureNow(world: World, order: Order): Record<string, unknown> {
  const { capture, unit } = order
  const isSlow = has(order, 'slow') && isYoung(world, capture?.at ?? 0)
  const refunded = refundedOf(order)
  const isWhole = refunded === centsOf(unit.amount)
  const paid = refunded === 0n ? 'COMPLETED' : isWhole ? 'REFUNDED' : 'PARTIALLY_REFUNDED'
  const status = has(order, 'declined') ? 'DECLINED' : isSlow ? 'PENDING' : paid
  return { id: capture?.id, status, amount: unit.amount, custom_id: unit.custom_id }
}

function isYoung(world: World, at: number): boolean {
  return world.now() - at < 3 * world.dayMs
}

function has(order: Order, word: string): boolean {
  return order.unit.description.split(' ').includes(word)
}

function announce(world: World, order: Order, event: object): void {
  const body = JSON.stringify({ id: `WH-${randomBytes(8).toString('hex')}`, ...event })
  const id = randomBytes(8).toString('hex')
  const time = new Date(world.now()).toISOString()
  const headers = {
    'paypal-auth-algo': 'SHA256withRSA',
    'paypal-cert-url': `${world.url()}/certs`,
    'paypal-transmission-id': id,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': sign(world, { id, time, body }),
  }
  world.webhooks.send({ headers, body })
  if (has(order, 'twice')) world.webhooks.send({ headers, body })
}

function sign(world: World, part: { id: string; time: string; body: string }): string {
  const text = [part.id, part.time, world.webhookId, part.body].join('|')
  return createHmac('sha256', world.clientSecret).update(text).digest('base64')
}

function verify(world: World, { text }: SimulatedRequest): SimulatedReply {
  const claim = JSON.parse(text) as Record<string, string>
  // The event as it was sent, to the byte.
  const body = text.slice(text.indexOf('"webhook_event":') + '"webhook_event":'.length, -1)
  const part = {
    id: claim['transmission_id'] ?? '',
    time: claim['transmission_time'] ?? '',
    body,
  }
  const isOurs =
    claim['webhook_id'] === world.webhookId && claim['transmission_sig'] === sign(world, part)
  return { status: 200, json: { verification_status: isOurs ? 'SUCCESS' : 'FAILURE' } }
}

function failure(status: number, name: string, issue?: string): SimulatedReply {
  return { status, json: { name, message: name, details: issue ? [{ issue }] : [] } }
}
