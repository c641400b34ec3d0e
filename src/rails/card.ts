import type { Stripe } from 'stripe'

import { BaseError, codeOf } from '../base/errors.ts'
import type { Charge } from '../store/rails/charges.ts'
import type { Refund } from '../store/rails/refunds.ts'
import type { DisputeView, GatewayAdapter, GatewayNews, RefundView } from './gateway.ts'
import {
  codeFrom,
  objectAt,
  parseObject,
  RailError,
  requireSame,
  textAt,
  type Fields,
} from './reply.ts'

export type CardSettings = {
  url: string
  key: string
  webhookSecret: string
  timeoutMs?: number
  now: () => Date
}

/**
 * Cards, through payment intents in the format of Stripe, spoken by its own library. The library
 * ends each call by a timeout of its own.
 */
export function createCard(settings: CardSettings): GatewayAdapter {
  const stripe = connect(settings)
  return {
    kind: 'card',
    create: async (charge) => {
      const { transactionId, currency, description, metadata } = charge
      const intent = await asking(stripe, async ({ paymentIntents }) =>
        paymentIntents.create(
          {
            amount: Number(charge.amount),
            currency: currency.toLowerCase(),
            description,
            automatic_payment_methods: { enabled: true },
            // The gateway keeps fifty words, and ours is one of them.
            metadata: {
              ...Object.fromEntries(Object.entries(metadata).slice(0, 49)),
              [OUR_ID]: transactionId,
            },
          },
          { idempotencyKey: transactionId },
        ),
      )
      return viewOf(fieldsOf(intent), charge)
    },
    read: async (charge) => {
      const { externalId } = charge
      const intent = await asking(stripe, async ({ paymentIntents }) =>
        paymentIntents.retrieve(externalId),
      )
      requireSame(fieldsOf(intent), 'id', externalId)
      return viewOf(fieldsOf(intent), charge)
    },
    refund: async (charge, refund) => {
      const { externalId } = charge
      if (refund.tries > 1) {
        const known = await findRefund(stripe, { externalId, refundId: refund.refundId })
        if (known) return refundViewOf(known, charge, refund)
      }
      const made = await asking(stripe, async ({ refunds }) =>
        refunds.create(
          {
            payment_intent: externalId,
            // The whole needs no amount.
            ...(refund.amount !== charge.amount && { amount: Number(refund.amount) }),
            metadata: { [OUR_REFUND]: refund.refundId },
          },
          { idempotencyKey: refund.refundId },
        ),
      )
      return refundViewOf(fieldsOf(made), charge, refund)
    },
    readDispute: async (charge, disputeId) => {
      const dispute = await asking(stripe, async ({ disputes }) => disputes.retrieve(disputeId))
      return disputeViewOf(fieldsOf(dispute), charge, disputeId)
    },
    verify: async ({ headers, body }) => newsOf(stripe, settings, { headers, body }),
  }
}

const OUR_ID = 'quittance_transaction'
const OUR_REFUND = 'quittance_refund'

/** Most programs start long before they see a card, so the library is loaded for the first one. */
type Connection = () => Promise<Stripe>

function connect(settings: CardSettings): Connection {
  let client: Promise<Stripe> | undefined
  return () => (client ??= open(settings))
}

async function open(settings: CardSettings): Promise<Stripe> {
  const { Stripe } = await import('stripe')
  const { protocol, hostname, port } = new URL(settings.url)
  return new Stripe(settings.key, {
    host: hostname,
    port: port || (protocol === 'https:' ? 443 : 80),
    protocol: protocol === 'https:' ? 'https' : 'http',
    timeout: settings.timeoutMs ?? 10_000,
    // Each carries the same key, so a second one has no second effect.
    maxNetworkRetries: 1,
    telemetry: false,
    httpClient: Stripe.createFetchHttpClient(readBounded),
  })
}

/** The library's errors in our words. Only an error in the gateway's own form is a refusal. */
async function asking<T>(connection: Connection, work: (stripe: Stripe) => Promise<T>): Promise<T> {
  const stripe = await connection()
  try {
    return await work(stripe)
  } catch (error) {
    const { Stripe } = await import('stripe')
    if (!(error instanceof Stripe.errors.StripeError)) throw unknown(error)
    if (error instanceof Stripe.errors.StripeAuthenticationError) {
      throw new RailError('rail_unauthorized', 'key', error)
    }
    if (error instanceof Stripe.errors.StripePermissionError) {
      throw new RailError('rail_unauthorized', 'permission', error)
    }
    // The library derives each kind of error from any status and body, so both must agree. A rate
    // limit, or a key that is in use at the same moment, is not a refusal either.
    const { statusCode = 0, rawType = '' } = error
    const isRefusal = [400, 402, 404].includes(statusCode) && REFUSALS.has(rawType)
    if (!isRefusal) throw unknown(error)
    throw new RailError('rail_refused', codeFrom(error.code, 'refused'), error)
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['invalid_request_error', 'card_error'])

function unknown(error: unknown): RailError {
  const status = (error as { statusCode?: number }).statusCode
  return new RailError('rail_unknown', status ? `status_${status}` : 'no_answer', error)
}

function fieldsOf(object: object): Fields {
  return object as Fields
}

function viewOf(intent: Fields, charge: Charge) {
  requireSame(intent, 'object', 'payment_intent')
  requireSame(intent, 'amount', Number(charge.amount))
  requireSame(intent, 'currency', charge.currency.toLowerCase())
  if (objectAt(intent, 'metadata')?.[OUR_ID] !== charge.transactionId) {
    throw new RailError('rail_reply_wrong', 'metadata')
  }
  const externalId = textAt(intent, 'id')
  const gatewayStatus = textAt(intent, 'status', 64)
  const status = STATUSES[gatewayStatus ?? '']
  if (externalId === undefined) throw new RailError('rail_reply_wrong', 'id')
  if (status === undefined) throw new RailError('rail_reply_wrong', 'status')
  // Less than the whole amount is not a payment, whatever the status says.
  if (status === 'completed') requireSame(intent, 'amount_received', Number(charge.amount))
  const problem = objectAt(intent, 'last_payment_error')
  const declined = textAt(problem, 'decline_code') ?? textAt(problem, 'code')
  const cancelled = textAt(intent, 'cancellation_reason')
  const errorCode = status === 'completed' ? undefined : (declined ?? cancelled)
  return {
    status,
    externalId,
    gatewayStatus,
    clientSecret: textAt(intent, 'client_secret', 512),
    errorCode: errorCode === undefined ? undefined : codeFrom(errorCode, 'declined'),
  }
}

const STATUSES: Readonly<Record<string, 'pending' | 'processing' | 'completed' | 'failed'>> = {
  requires_payment_method: 'pending',
  requires_confirmation: 'pending',
  requires_action: 'pending',
  requires_capture: 'pending',
  processing: 'processing',
  succeeded: 'completed',
  canceled: 'failed',
}

/** A refund that was made before, but whose answer did not arrive here. */
async function findRefund(
  stripe: Connection,
  wanted: { externalId: string; refundId: string },
): Promise<Fields | undefined> {
  const { data, has_more: isCut } = await asking(stripe, async ({ refunds }) =>
    refunds.list({ payment_intent: wanted.externalId, limit: 100 }),
  ).catch((error: unknown) => {
    // A refused query is not a refused refund: the refund may have been made.
    throw codeOf(error) === 'rail_refused' ? unknown(error) : error
  })
  const found = data.map(fieldsOf).find((one) => {
    return objectAt(one, 'metadata')?.[OUR_REFUND] === wanted.refundId
  })
  // It may be among those that were not listed, and must not be made again.
  if (found === undefined && isCut) throw new RailError('rail_unknown', 'refunds_cut')
  return found
}

function refundViewOf(refund: Fields, charge: Charge, { amount }: Refund): RefundView {
  requireSame(refund, 'object', 'refund')
  requireSame(refund, 'payment_intent', charge.externalId ?? null)
  requireSame(refund, 'amount', Number(amount))
  requireSame(refund, 'currency', charge.currency.toLowerCase())
  const status = textAt(refund, 'status') ?? ''
  const failed = status === 'failed' || status === 'canceled'
  return {
    state: status === 'succeeded' ? 'completed' : failed ? 'failed' : 'pending',
    externalId: textAt(refund, 'id'),
    errorCode: failed ? codeFrom(textAt(refund, 'failure_reason'), status) : undefined,
  }
}

function disputeViewOf(dispute: Fields, charge: Charge, disputeId: string): DisputeView {
  requireSame(dispute, 'id', disputeId)
  requireSame(dispute, 'object', 'dispute')
  requireSame(dispute, 'payment_intent', charge.externalId ?? null)
  requireSame(dispute, 'currency', charge.currency.toLowerCase())
  const amount = dispute['amount']
  if (!Number.isSafeInteger(amount) || Number(amount) <= 0 || Number(amount) > charge.amount) {
    throw new RailError('rail_reply_wrong', 'amount')
  }
  const status = codeFrom(textAt(dispute, 'status'), 'unknown')
  return {
    status,
    reason: codeFrom(textAt(dispute, 'reason'), 'general'),
    amountMinor: BigInt(Number(amount)),
    isClosed: ['won', 'lost', 'warning_closed', 'prevented'].includes(status),
  }
}

/** Five minutes: an older signature may be a recording. */
const TOLERANCE_SECONDS = 300

async function newsOf(
  stripe: Connection,
  settings: CardSettings,
  webhook: { headers: Readonly<Record<string, unknown>>; body: Buffer },
): Promise<GatewayNews | undefined> {
  const signature = webhook.headers['stripe-signature']
  if (typeof signature !== 'string') return undefined
  const { webhooks } = await stripe()
  try {
    webhooks.constructEvent(
      webhook.body,
      signature,
      settings.webhookSecret,
      TOLERANCE_SECONDS,
      undefined,
      settings.now().getTime(),
    )
  } catch {
    return undefined
  }
  const event = parseObject(webhook.body.toString('utf8'))
  const object = objectAt(objectAt(event, 'data'), 'object')
  const isIntent = object?.['object'] === 'payment_intent'
  const isDispute = object?.['object'] === 'dispute'
  return {
    externalId: textAt(object, isIntent ? 'id' : 'payment_intent'),
    transactionId: textAt(objectAt(object, 'metadata'), OUR_ID),
    disputeId: isDispute ? textAt(object, 'id') : undefined,
  }
}

/**
 * The platform's `fetch` for libraries that would read whatever comes: no redirects, and no answer
 * beyond a bound.
 */
export async function readBounded(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'error' })
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new AnswerTooLargeError()
    chunks.push(chunk)
  }
  const { status, headers } = response
  const isEmpty = status === 204 || status === 304
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers })
}

const MAX_ANSWER_BYTES = 256 * 1024

class AnswerTooLargeError extends BaseError {
  constructor() {
    super(`The answer has more than ${MAX_ANSWER_BYTES / 1024} KB, so it was not read.`, {
      code: 'answer_too_large',
    })
  }
}
