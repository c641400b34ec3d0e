import type { FastifyReply, FastifyRequest } from 'fastify'

export type Group = 'a' | 'b'

/** Group A lives below /v1, and answers /ping; everything else speaks as Group B does. */
export function groupOf(url: string): Group {
  return /^\/(?:v1|ping)(?:[/?]|$)/.test(url) ? 'a' : 'b'
}

/** Every answer carries these, whoever writes it. */
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
