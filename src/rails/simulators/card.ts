import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { openJournal, type Journal } from './journal.ts'
import type { Simulated, SimulatedReply, SimulatedRequest } from './serve.ts'
import type { WebhookSender } from './webhooks.ts'

export type SimulatedCardOptions = {
  key: string
  webhookSecret: string
  now: () => number
  dayMs: number
  webhooks: WebhookSender
  folder?: string | undefined
}

/**
 * What a payment method does at the confirmation: the gateway's own names for tests. The word
 * `silent` in a description makes the intent without an answer, and `twice` doubles webhooks.
 */
const METHODS: Readonly<Record<string, CardFate>> = {
  pm_card_visa: 'paid',
  pm_card_visa_chargeDeclined: 'declined',
  pm_card_authenticationRequired: 'action',
  pm_card_createDispute: 'disputed',
  pm_card_pendingRefund: 'paid',
}

type CardFate = 'paid' | 'declined' | 'action' | 'disputed'
type Thing = Record<string, unknown> & { id: string }
type Things = Record<'intents' | 'refunds' | 'disputes', Journal<Thing>>
type World = SimulatedCardOptions & Things

/** A card gateway in the format of Stripe: as much of it as the adapter and a payer use. */
export function createSimulatedCard(options: SimulatedCardOptions): Simulated {
  const { folder } = options
  const open = (name: string) => openJournal<Thing>(folder && join(folder, `card-${name}.jsonl`))
  const world: World = {
    ...options,
    intents: open('intents'),
    refunds: open('refunds'),
    disputes: open('disputes'),
  }
  return (request) => {
    const form = new URLSearchParams(request.text)
    const [, version, area = '', id, act] = request.path.split('/')
    if (version !== 'v1') return failure(404, { type: 'invalid_request_error' })
    const isPayer = act === 'confirm' || act === 'authenticate'
    const isOurs = request.headers['authorization'] === `Bearer ${options.key}`
    if (!isOurs && !(isPayer && mayPay(world, id, form))) {
      return failure(401, { type: 'invalid_request_error', message: 'Invalid API Key provided' })
    }
    const route = ROUTES[`${request.method} ${area}${id ? '/id' : ''}${act ? `/${act}` : ''}`]
    return route?.(world, { request, form, id: id ?? '' }) ?? missing()
  }
}

type Call = { request: SimulatedRequest; form: URLSearchParams; id: string }

const ROUTES: Readonly<Record<string, (world: World, call: Call) => SimulatedReply>> = {
  'POST payment_intents': createIntent,
  'GET payment_intents/id': (world, { id }) => shown(world.intents.get(id)),
  'POST payment_intents/id/confirm': confirm,
  'POST payment_intents/id/authenticate': (world, { id }) => {
    const intent = world.intents.get(id)
    return intent?.['status'] === 'requires_action' ? pay(world, intent) : missing()
  },
  'POST payment_intents/id/cancel': (world, { id }) => {
    const intent = world.intents.get(id)
    if (intent === undefined || intent['status'] === 'succeeded') return missing()
    const reason = 'requested_by_customer'
    return changed(world, { ...intent, status: 'canceled', cancellation_reason: reason })
  },
  'POST refunds': createRefund,
  'GET refunds': (world, { request }) => {
    const of = request.query.get('payment_intent')
    const data = world.refunds.all().filter((one) => one['payment_intent'] === of)
    const list = data.map((one) => refundNow(world, one))
    return {
      status: 200,
      json: { object: 'list', data: list, has_more: false, url: '/v1/refunds' },
    }
  },
  'GET disputes/id': (world, { id }) => {
    const dispute = world.disputes.get(id)
    return shown(dispute && disputeNow(world, dispute))
  },
}

function mayPay(world: World, id: string | undefined, form: URLSearchParams): boolean {
  const secret = world.intents.get(id ?? '')?.['client_secret']
  return secret !== undefined && form.get('client_secret') === secret
}

function createIntent(world: World, { request, form }: Call): SimulatedReply {
  const key = String(request.headers['idempotency-key'])
  const earlier = world.intents.find((intent) => intent['key'] === key)
  if (earlier) {
    return earlier['asked'] === request.text
      ? shown(earlier)
      : failure(400, { type: 'idempotency_error' })
  }
  const amount = Number(form.get('amount'))
  if (!Number.isSafeInteger(amount) || amount < 30) {
    return failure(400, { type: 'invalid_request_error', code: 'amount_too_small' })
  }
  const id = `pi_${randomBytes(12).toString('hex')}`
  const intent = world.intents.put({
    id,
    object: 'payment_intent',
    amount,
    amount_received: 0,
    currency: form.get('currency'),
    description: form.get('description'),
    client_secret: `${id}_secret_${randomBytes(12).toString('hex')}`,
    metadata: metadataOf(form),
    status: 'requires_payment_method',
    last_payment_error: null,
    next_action: null,
    cancellation_reason: null,
    created: seconds(world),
    livemode: false,
    key,
    asked: request.text,
  })
  announce(world, 'payment_intent.created', intent)
  return has(intent, 'silent') ? { status: 0, isSilent: true } : shown(intent)
}

function confirm(world: World, { form, id }: Call): SimulatedReply {
  const intent = world.intents.get(id)
  if (intent?.['status'] !== 'requires_payment_method') return missing()
  const method = form.get('payment_method') ?? ''
  const outcome = METHODS[method]
  if (outcome === undefined) {
    return failure(400, { type: 'invalid_request_error', code: 'resource_missing' })
  }
  if (outcome === 'declined') {
    const error = { type: 'card_error', code: 'card_declined', decline_code: 'generic_decline' }
    const declined = world.intents.put({ ...intent, last_payment_error: error })
    announce(world, 'payment_intent.payment_failed', declined)
    return failure(402, { ...error, payment_intent: publicOf(declined) })
  }
  if (outcome === 'action') {
    const next_action = { type: 'use_stripe_sdk', use_stripe_sdk: {} }
    return changed(world, {
      ...intent,
      payment_method: method,
      status: 'requires_action',
      next_action,
    })
  }
  const paid = pay(world, { ...intent, payment_method: method })
  if (outcome === 'disputed') dispute(world, intent)
  return paid
}

function pay(world: World, intent: Thing): SimulatedReply {
  const { amount } = intent
  const settled = { status: 'succeeded', amount_received: amount, next_action: null }
  return changed(world, { ...intent, ...settled, last_payment_error: null })
}

function changed(world: World, intent: Thing): SimulatedReply {
  world.intents.put(intent)
  announce(world, `payment_intent.${String(intent['status'])}`, intent)
  return shown(intent)
}

function dispute(world: World, intent: Thing): void {
  const { amount, currency } = intent
  const made = world.disputes.put({
    id: `dp_${randomBytes(12).toString('hex')}`,
    object: 'dispute',
    amount,
    currency,
    payment_intent: intent.id,
    reason: 'fraudulent',
    description: intent['description'],
    madeAt: world.now(),
  })
  announce(world, 'charge.dispute.created', disputeNow(world, made))
}

/** A dispute goes its way by itself, and is lost after three days. */
function disputeNow(world: World, dispute: Thing): Thing {
  const days = (world.now() - Number(dispute['madeAt'])) / world.dayMs
  return { ...dispute, status: days < 1 ? 'needs_response' : days < 3 ? 'under_review' : 'lost' }
}

function createRefund(world: World, { request, form }: Call): SimulatedReply {
  const key = String(request.headers['idempotency-key'])
  const earlier = world.refunds.find((refund) => refund['key'] === key)
  if (earlier) {
    return earlier['asked'] === request.text
      ? shown(refundNow(world, earlier))
      : failure(400, { type: 'idempotency_error' })
  }
  const of = form.get('payment_intent')
  const intent = world.intents.get(of ?? '')
  if (intent?.['status'] !== 'succeeded') return missing()
  const disputed = world.disputes.find((dispute) => dispute['payment_intent'] === of)
  if (disputed && disputeNow(world, disputed)['status'] === 'lost') {
    return failure(400, { type: 'invalid_request_error', code: 'charge_disputed' })
  }
  const others = world.refunds.all().filter((refund) => refund['payment_intent'] === of)
  const rest = others.reduce((left, one) => left - Number(one['amount']), Number(intent['amount']))
  if (rest === 0) {
    return failure(400, { type: 'invalid_request_error', code: 'charge_already_refunded' })
  }
  const amount = Number(form.get('amount') ?? rest)
  if (!Number.isSafeInteger(amount) || amount < 1 || amount > rest) {
    return failure(400, { type: 'invalid_request_error', param: 'amount' })
  }
  const refund = world.refunds.put({
    id: `re_${randomBytes(12).toString('hex')}`,
    object: 'refund',
    amount,
    currency: intent['currency'],
    payment_intent: of,
    metadata: metadataOf(form),
    isSlow: intent['payment_method'] === 'pm_card_pendingRefund',
    madeAt: world.now(),
    key,
    asked: request.text,
  })
  return has(intent, 'silent-refund')
    ? { status: 0, isSilent: true }
    : shown(refundNow(world, refund))
}

function refundNow(world: World, refund: Thing): Thing {
  const days = (world.now() - Number(refund['madeAt'])) / world.dayMs
  const isPending = refund['isSlow'] === true && days < 3
  return { ...refund, status: isPending ? 'pending' : 'succeeded' }
}

function metadataOf(form: URLSearchParams): Record<string, string> {
  const entries = [...form].flatMap(([name, value]) => {
    const key = /^metadata\[(.+)\]$/.exec(name)?.[1]
    return key === undefined ? [] : [[key, value] as const]
  })
  return Object.fromEntries(entries)
}

function has(thing: Thing, word: string): boolean {
  return String(thing['description']).split(' ').includes(word)
}

function announce(world: World, type: string, object: Thing): void {
  const created = seconds(world)
  const body = JSON.stringify({
    id: `evt_${randomBytes(12).toString('hex')}`,
    object: 'event',
    type,
    created,
    data: { object: publicOf(object) },
  })
  const headers = { 'stripe-signature': signWebhook(body, world.webhookSecret, created) }
  world.webhooks.send({ headers, body })
  if (has(object, 'twice')) world.webhooks.send({ headers, body })
}

/** As the gateway signs: the time and the body, under the shared secret. */
export function signWebhook(body: string, secret: string, at: number): string {
  const digest = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
  return `t=${at},v1=${digest}`
}

function seconds(world: World): number {
  return Math.floor(world.now() / 1000)
}

function publicOf(thing: Thing): Record<string, unknown> {
  const { key: _key, asked: _asked, madeAt: _madeAt, isSlow: _isSlow, ...rest } = thing
  return rest
}

function shown(thing: Thing | undefined): SimulatedReply {
  return thing === undefined ? missing() : { status: 200, json: publicOf(thing) }
}

function missing(): SimulatedReply {
  return failure(404, { type: 'invalid_request_error', code: 'resource_missing' })
}

function failure(status: number, error: object): SimulatedReply {
  return { status, json: { error: { message: 'simulated', ...error } } }
}
