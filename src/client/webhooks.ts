import type { AnswerFields } from './answer.ts'
import { ApiError } from './errors.ts'
import { readJson } from './json.ts'
import type { Open } from './parsed.ts'
import { flat, isObject } from './payments-client.ts'
import type { PaymentMade, TransferMade } from './payments-types.ts'
import type { PlatformEvent } from './platform-types.ts'

/** A webhook as the HTTP server received it. */
export type SignedRequest = {
  /** The exact bytes: JSON that was parsed and written again has another signature. */
  body: string | Uint8Array
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The content of a webhook: the field of its type has the whole object that changed. */
export type WebhookNotification = {
  /** The same at each delivery, so that you can skip a notification that you have seen. */
  id: string
  notificationType: Open<
    'payments' | 'transfers' | 'chargebacks' | 'transactions' | 'batches' | 'ping'
  >
  clientId?: string
  version?: number
  /** Rises with the changes, without gaps. */
  sequence?: number
  timestamp?: string
  payment?: PaymentMade
  transfer?: TransferMade
  chargeback?: Record<string, unknown>
  /** Of a transaction or a batch, as in the log of events. */
  event?: PlatformEvent
}

/**
 * The notification, if one of the secrets has signed it (Standard Webhooks 1.0) and not long ago;
 * else an error `webhook_invalid`. Runs wherever WebCrypto does.
 *
 * @example
 *   ```ts
 *   import { verifyWebhook } from 'quittance/client'
 *
 *   export async function receive(request: Request): Promise<Response> {
 *     const body = await request.text()
 *     const webhook = { body, headers: request.headers }
 *     const { id } = await verifyWebhook(webhook, { secrets: ['whsec_…'] })
 *     console.log(id)
 *     return new Response(null, { status: 204 })
 *   }
 *   ```
 */
export async function verifyWebhook(
  request: SignedRequest,
  options: {
    /** `whsec_…`; two while a secret is being changed. */
    secrets: readonly string[]
    toleranceMs?: number | undefined
    now?: (() => number) | undefined
  },
): Promise<WebhookNotification> {
  const { secrets, toleranceMs = DEFAULT_TOLERANCE_MS, now = Date.now } = options
  const id = headerOf(request, 'webhook-id')
  const sentAt = headerOf(request, 'webhook-timestamp')
  const signatures = headerOf(request, 'webhook-signature').split(' ').slice(0, MAX_SIGNATURES)
  if (!/^\d{1,12}$/.test(sentAt) || Math.abs(now() - Number(sentAt) * 1000) > toleranceMs) {
    throw invalid('Its time is too far from now. Check the clock.')
  }
  const bytes = typeof request.body === 'string' ? encode(request.body) : request.body
  const content = joinBytes(encode(`${id}.${sentAt}.`), bytes)
  if (!(await isSignedByOne({ secrets, signatures, content }))) {
    throw invalid('No signature is from these secrets. Pass the exact bytes of the body.')
  }
  return read(bytes)
}

const DEFAULT_TOLERANCE_MS = 5 * 60_000
const MAX_SIGNATURES = 8

async function isSignedByOne(facts: {
  secrets: readonly string[]
  signatures: readonly string[]
  content: Uint8Array<ArrayBuffer>
}): Promise<boolean> {
  const { secrets, signatures, content } = facts
  for (const secret of secrets) {
    const raw = decodeBase64(secret.replace(/^whsec_/, ''))
    if (raw === undefined || raw.length === 0)
      throw invalid('The secret is not whsec_ followed by base64.')
    const hmac = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', raw, hmac, false, ['verify'])
    for (const signature of signatures) {
      const [version, text = ''] = signature.split(',', 2)
      const bytes = version === 'v1' ? decodeBase64(text) : undefined
      // It compares in constant time.
      if (bytes && (await crypto.subtle.verify(hmac, key, bytes, content))) return true
    }
  }
  return false
}

function read(bytes: Uint8Array): WebhookNotification {
  const body = parse(bytes)
  if (!isObject(body) || typeof body['id'] !== 'string')
    throw invalid('Its body is not a notification.')
  const changed: AnswerFields = { ...body }
  for (const field of ['payment', 'transfer', 'chargeback']) {
    const object = body[field]
    if (isObject(object)) changed[field] = flat(object)
  }
  return changed as WebhookNotification
}

function parse(bytes: Uint8Array): unknown {
  try {
    return readJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalid('Its body is not JSON.')
  }
}

function headerOf({ headers }: SignedRequest, name: string): string {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  if (typeof found === 'string' && found !== '') return found
  throw invalid(`It has no ${name}, or more than one.`)
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function joinBytes(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head.length + tail.length)
  bytes.set(head)
  bytes.set(tail, head.length)
  return bytes
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function invalid(reason: string): ApiError {
  return new ApiError(`The webhook is not accepted. ${reason}`, { code: 'webhook_invalid' })
}
