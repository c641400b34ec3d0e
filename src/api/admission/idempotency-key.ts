import { createHash } from 'node:crypto'

import type { FastifyRequest } from 'fastify'

import { canonicalJson } from '../../wire/json.ts'
import { invalidRequest } from './checks.ts'
import type { Endpoint, Post } from './endpoint.ts'

/** The key of a POST, and a fingerprint of what it stands for. */
export function readIdempotency(
  request: FastifyRequest,
  endpoint: Endpoint,
  body: unknown,
): Pick<Post, 'key' | 'fingerprint'> {
  const { key, rest } = splitKey(request, endpoint, body)
  const path = request.url.split('?', 1)[0] ?? request.url
  const fingerprint = createHash('sha256')
    .update(`${endpoint.method} ${path}\n${canonicalJson(rest ?? null)}`)
    .digest('hex')
  return { key, fingerprint }
}

/** The key, and the body without it: the same request may carry it here or there. */
function splitKey(
  request: FastifyRequest,
  endpoint: Endpoint,
  body: unknown,
): { key: string | undefined; rest: unknown } {
  if (endpoint.hasSecret) return { key: undefined, rest: body }
  const header = readKey(request.headers['idempotency-key'])
  if (endpoint.group === 'b' || typeof body !== 'object' || body === null) {
    return { key: header, rest: body }
  }
  const { idempotencyKey, ...rest } = body as Record<string, unknown>
  if (typeof idempotencyKey !== 'string') return { key: header, rest }
  if (header !== undefined && header !== idempotencyKey) {
    const message = 'The header has another key than the body. Send one of them.'
    throw invalidRequest([{ field: 'idempotencyKey', code: 'conflict', message }])
  }
  return { key: idempotencyKey, rest }
}

/** Bare, or in quotes as the IETF's draft has it; both stand for the same key. */
function readKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? '' : header
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    const message = 'The key must have 1 to 255 visible ASCII characters and no spaces.'
    throw invalidRequest([{ field: 'header.idempotency-key', code: 'pattern', message }])
  }
  return key
}
