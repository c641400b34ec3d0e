import { Readable } from 'node:stream'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { limits } from '../base/limits.ts'
import { mayUse, type Caller } from '../domain/access.ts'
import type { Db } from '../store/database/database.ts'
import { RequestError } from '../wire/errors.ts'
import type { Endpoint, FollowRequest, Media } from './admission/endpoint.ts'

/** Beyond the stream's own end, so that the framework only ends what hangs. */
export const FOLLOW_TIMEOUT_MS = limits.streamMs + limits.handlerTimeoutMs

export type SendEvents = (options: {
  request: FastifyRequest
  reply: FastifyReply
  follow: NonNullable<Endpoint['follow']>
  caller: Caller
  query: unknown
  media: Media | undefined
  callerNow: FollowRequest['callerNow']
  db: Db
}) => Promise<FastifyReply>

/** Sends what an operation tells, as it tells it, until it ends or the client goes. */
export function createSendEvents(): SendEvents {
  // Those of administrators are counted apart, so that no others take their places.
  const open = { admin: 0, others: 0 }
  const openOf = new Map<number, number>()
  const count = (userId: number, kind: keyof typeof open, change: 1 | -1): void => {
    open[kind] += change
    const own = (openOf.get(userId) ?? 0) + change
    if (own > 0) openOf.set(userId, own)
    else openOf.delete(userId)
  }
  return async ({ request, reply, follow, media, query, caller, callerNow, db }) => {
    const { userId } = caller
    const kind = mayUse(caller, 'admin') ? 'admin' : 'others'
    if ((openOf.get(userId) ?? 0) >= limits.streamsOfUser) throw new TooManyOfUserError()
    if (open[kind] >= MOST[kind]) throw new TooManyStreamsError()
    const gone = new AbortController()
    const lastEventId = readLastEventId(request.headers['last-event-id'])
    const events = Readable.from(
      follow({ query, caller, callerNow, db, lastEventId, signal: gone.signal }),
    )
    count(userId, kind, 1)
    events.once('close', () => count(userId, kind, -1))
    reply.raw.once('close', () => {
      gone.abort()
      events.destroy()
    })
    if (media !== undefined) {
      const named = `attachment; filename="${media.file}"`
      return reply.type(media.type).header('content-disposition', named).send(events)
    }
    return reply
      .type('text/event-stream; charset=utf-8')
      .header('x-accel-buffering', 'no')
      .send(events)
  }
}

const MOST = { admin: limits.streamsOfAdmins, others: limits.streams } as const

/** One event. */
export function formatEvent(event: { id: string; data: unknown }): string {
  return `id: ${event.id}\ndata: ${JSON.stringify(event.data)}\n\n`
}

/** Without data it is not an event, but the client learns where to resume. */
export function heartbeat(id: string): string {
  return `: still here\nid: ${id}\n\n`
}

function readLastEventId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined
}

class TooManyStreamsError extends RequestError {
  constructor() {
    super('unavailable', 'Too many streams are open. Try again in 10 s, or read /api/events.', {
      headers: { 'retry-after': '10' },
      retryable: true,
    })
  }
}

class TooManyOfUserError extends RequestError {
  constructor() {
    const message = `You have ${limits.streamsOfUser} streams open. Close one, or read /api/events.`
    super('rate_limited', message, { headers: { 'retry-after': '10' } })
  }
}
