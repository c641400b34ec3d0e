import { randomFillSync } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyReply, FastifyRequest } from 'fastify'

export type Group = 'a' | 'b'

/** Group A lives below /v1, and answers /ping; everything else speaks as Group B does. */
export function groupOf(url: string): Group {
  return /^\/(?:v1|ping)(?:[/?]|$)/.test(url) ? 'a' : 'b'
}

/** Every answer has these headers, whichever part writes it. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
  // Without it a client must not repeat a POST whose answer was lost.
  reply.header('accept-idempotency-key', 'POST')
  if (groupOf(request.url) === 'a') reply.header('api-version', GROUP_A_VERSION)
}

/** The contract's version label of Group A; Group B is additive and has none. */
export const GROUP_A_VERSION = 'v1.2.0'

/** Answers are data for programs: nothing may show, frame, sniff or keep them. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
} as const

/** The client's own id where it is harmless in logs and headers, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && CLIENT_ID.test(given) ? given : newRequestId(Date.now())
}

/** A UUID of version 7: it sorts by time, so one request's lines are found near each other. */
export function newRequestId(nowMs: number): string {
  const bytes = nextRandomBytes()
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

const CLIENT_ID = /^[A-Za-z0-9_-]{8,64}$/

const ID_BYTES = 16

/** Drawn for many ids at once: each call into the generator costs more than the id. */
const pool = Buffer.alloc(ID_BYTES * 128)
let used = pool.length

function nextRandomBytes(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += ID_BYTES
  return pool.subarray(used - ID_BYTES, used)
}
