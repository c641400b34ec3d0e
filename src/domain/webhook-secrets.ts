import { createHmac, createSecretKey } from 'node:crypto'

import type { RandomBytes } from './ids.ts'

/** 256 random bits, in the form that Standard Webhooks 1.0 gives a symmetric secret. */
export function createWebhookSecret(randomBytes: RandomBytes): string {
  return PREFIX + Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')
}

/**
 * The `webhook-signature` of Standard Webhooks 1.0: one signature for each secret, so that a
 * receiver that knows any of them can verify.
 */
export function signWebhook(message: {
  id: string
  /** Seconds since 1970, as `webhook-timestamp` has it. */
  timestampS: number
  body: string
  secrets: readonly string[]
}): string {
  const { id, timestampS, body, secrets } = message
  const signed = `${id}.${timestampS}.${body}`
  const signatures = secrets.map((secret) => {
    const key = createSecretKey(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  })
  return signatures.join(' ')
}

const PREFIX = 'whsec_'
const SECRET_BYTES = 32
