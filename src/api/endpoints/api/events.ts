import { hasEvent, listEvents, type Event } from '../../../store/transactions/events.ts'
import {
  EventListQuerySchema,
  eventFields,
  EventListSchema,
  type EventWire,
} from '../../../wire/group-b/events.ts'
import { effectiveLimit } from '../../../wire/shapes.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint } from '../../admission/endpoint.ts'

export const eventListEndpoint = defineEndpoint({
  route: 'GET /api/events',
  operationId: 'listEvents',
  summary: 'List the events of your transactions since the one you saw last',
  tag: 'Events',
  access: 'transactions:read',
  query: EventListQuerySchema,
  answer: EventListSchema,
  handle: async ({ query, caller, db }) => {
    const limit = effectiveLimit(query.limit)
    const userId = caller.userId
    const after = /^0*$/.test(query.after) ? undefined : BigInt(query.after)
    const found = await listEvents(db, { userId, after, limit: limit + 1 })
    if (after !== undefined && found.length === 0 && !(await hasEvent(db, { userId, id: after }))) {
      const message = 'No event has this id. Send the next_after of an answer, or leave it out.'
      throw invalidRequest([{ field: 'query.after', code: 'bad_cursor', message }])
    }
    const shown = found.slice(0, limit)
    return {
      success: true as const,
      events: shown.map(toEventWire),
      next_after: String(shown.at(-1)?.id ?? after ?? 0n),
      has_more: found.length > limit,
    }
  },
})

function toEventWire(event: Event): EventWire {
  return { id: event.id, ...eventFields(event) }
}
