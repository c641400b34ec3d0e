import { ImpossibleError } from '../../../base/errors.ts'
import type { Clock } from '../../../base/clock.ts'
import { limits } from '../../../base/limits.ts'
import { mayUse, type Caller } from '../../../domain/access.ts'
import {
  endOfLog,
  listEveryonesEvents,
  type EveryonesEvent,
  type StreamPlace,
} from '../../../store/access/everyone.ts'
import type { Db } from '../../../store/database/database.ts'
import { StreamEventSchema, type StreamEventWire } from '../../../wire/group-b/admin.ts'
import { eventFields } from '../../../wire/group-b/events.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint, type Endpoint, type FollowRequest } from '../../admission/endpoint.ts'
import { formatEvent, heartbeat } from '../../event-stream.ts'

/** Sends events as they happen: to users their own, and to administrators all of them. */
export function streamEndpoint(deps: { clock: Clock; closing: AbortSignal }): Endpoint {
  return defineEndpoint({
    route: 'GET /api/stream',
    operationId: 'followEvents',
    summary: 'Stream your events as server-sent events; administrators receive those of all users',
    description:
      'A comment is sent every 10 seconds if nothing happens. The stream ends after 5 minutes, ' +
      'when the server stops, and within 5 seconds of the end of your access. Connect again with ' +
      `the id of the last event. ${limits.streamsOfUser} can be open at a time.`,
    tag: 'Events',
    access: 'transactions:read',
    answer: StreamEventSchema,
    handle: () => Promise.reject(new ImpossibleError('a stream is followed')),
    follow: (request) => {
      const { lastEventId } = request
      const place = lastEventId === undefined ? undefined : placeOf(lastEventId)
      return follow({ ...request, place }, deps)
    },
  })
}

const POLL_MS = 500
const HEARTBEAT_MS = 10_000

async function* follow(
  request: FollowRequest & { place: StreamPlace | undefined },
  { clock, closing }: { clock: Clock; closing: AbortSignal },
): AsyncGenerator<string> {
  const { callerNow, db } = request
  const signal = AbortSignal.any([request.signal, closing])
  const endsAt = clock.now().getTime() + limits.streamMs
  let place = request.place ?? (await endOfLog(db))
  let saidAt = 0
  while (!signal.aborted && clock.now().getTime() < endsAt) {
    const caller = await callerNow()
    if (caller === undefined) return
    const found = await listNew(db, { caller, after: place })
    for (const event of found) yield formatEvent({ id: idOf(event.place), data: toWire(event) })
    place = found.at(-1)?.place ?? place
    const now = clock.now().getTime()
    if (found.length > 0) saidAt = now
    else if (now - saidAt >= HEARTBEAT_MS) {
      yield heartbeat(idOf(place))
      saidAt = now
    }
    if (found.length < limits.streamEvents) await clock.sleep(POLL_MS, signal)
  }
}

function listNew(
  db: Db,
  { caller, after }: { caller: Caller; after: StreamPlace },
): Promise<EveryonesEvent[]> {
  const userId = mayUse(caller, 'admin') ? undefined : caller.userId
  return listEveryonesEvents(db, { userId, after, limit: limits.streamEvents })
}

function idOf({ logKey, id }: StreamPlace): string {
  return `${logKey}.${id}`
}

function placeOf(text: string): StreamPlace {
  const [, logKey, id] = /^([0-9]{1,18})\.([0-9]{1,18})$/.exec(text) ?? []
  if (logKey === undefined || id === undefined) {
    const message = 'This id is not from this stream. Send the last one that you saw, or none.'
    throw invalidRequest([{ field: 'header.last-event-id', code: 'bad_cursor', message }])
  }
  return { logKey: BigInt(logKey), id: BigInt(id) }
}

function toWire(event: EveryonesEvent): StreamEventWire {
  return { user_id: event.userId, ...eventFields(event) }
}
