import type { ListPlace } from '../../../../store/transactions/list.ts'
import { invalidRequest } from '../../../admission/checks.ts'

/** The place of the last one shown: when it was made, in milliseconds, and its internal id. */
export function cursorOf(place: ListPlace): string {
  return Buffer.from(`${place.createdAt.getTime()},${place.id}`).toString('base64url')
}

/**
 * A cursor that was tampered with leads to another place in the caller's own list, or is refused;
 * so it needs no signature.
 */
export function placeOfCursor(cursor: string): ListPlace {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, ms = '', id = ''] = /^([1-9][0-9]{0,13}),([1-9][0-9]{0,17})$/.exec(text) ?? []
  const place = { createdAt: new Date(Number(ms)), id: BigInt(id) }
  if (ms === '' || cursorOf(place) !== cursor) {
    const message = 'This is no cursor of this list. Take the next_cursor of an answer as it is.'
    throw invalidRequest([{ field: 'query.cursor', code: 'bad_cursor', message }])
  }
  return place
}
