import { BaseError, codeOf } from '../base/errors.ts'
import { exchangeByNode } from '../chain/rpc/http-node.ts'
import type { HttpExchange } from '../chain/rpc/http.ts'

/**
 * What a call to a party outside came to. `refused` is the party's own word, in its own format;
 * whatever else is not an answer leaves the outcome unknown, and nothing may be concluded from it.
 */
export type RailErrorCode =
  'rail_unknown' | 'rail_refused' | 'rail_reply_wrong' | 'rail_unauthorized'

export class RailError extends BaseError {
  override readonly name = 'RailError'
  declare readonly code: RailErrorCode
  /** The party's own code for a refusal, or the field of a reply that is wrong. */
  readonly reason: string

  constructor(code: RailErrorCode, reason: string, cause?: unknown) {
    super(`${SENTENCES[code]} (${reason}).`, {
      code,
      cause,
      retryable: code !== 'rail_refused',
      details: { reason },
    })
    this.reason = reason
  }
}

const SENTENCES: Record<RailErrorCode, string> = {
  rail_unknown: 'The result of the call is not known yet; it is asked again',
  rail_refused: 'The other party refused the call',
  rail_reply_wrong: 'The reply is about something else, and is not accepted',
  rail_unauthorized: 'The other party refuses our credential; correct the configuration',
}

export type Reply = { status: number; body: Fields }

/** One call whose reply must be a JSON object of bounded size, from that very address. */
export async function askForJson(
  call: Omit<HttpExchange, 'timeoutMs' | 'maxAnswerBytes'> & { timeoutMs?: number },
): Promise<Reply> {
  const answer = await exchangeByNode({
    timeoutMs: DEFAULT_TIMEOUT_MS,
    maxAnswerBytes: MAX_REPLY_BYTES,
    ...call,
  }).catch((error: unknown) => {
    throw new RailError('rail_unknown', codeOf(error) ?? 'unreachable', error)
  })
  const body = parseObject(answer.text)
  if (answer.status === 401 || answer.status === 403) {
    throw new RailError('rail_unauthorized', `status_${answer.status}`)
  }
  if (body === undefined) throw new RailError('rail_unknown', `status_${answer.status}_no_json`)
  return { status: answer.status, body }
}

const DEFAULT_TIMEOUT_MS = 15_000
const MAX_REPLY_BYTES = 256 * 1024

/** An object from outside, of which nothing is believed before it is read by one of these. */
export type Fields = Readonly<Record<string, unknown>>

export function objectAt(fields: Fields | undefined, name: string): Fields | undefined {
  const value = fields?.[name]
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Fields) : undefined
}

export function objectsAt(fields: Fields | undefined, name: string): Fields[] {
  const value = fields?.[name]
  if (!Array.isArray(value)) return []
  return value.filter((one): one is Fields => typeof one === 'object' && one !== null)
}

/** Text of a length that a name or a code has; anything else is as good as nothing. */
export function textAt(fields: Fields | undefined, name: string, max = 128): string | undefined {
  const value = fields?.[name]
  return typeof value === 'string' && value.length > 0 && value.length <= max ? value : undefined
}

/** Requires a field to say what was asked for. */
export function requireSame(fields: Fields, name: string, expected: string | number | null): void {
  if (fields[name] !== expected) throw new RailError('rail_reply_wrong', name)
}

/** A code of somebody else in our own alphabet. */
export function codeFrom(text: string | undefined, fallback: string): string {
  const code = (text ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, '_')
    .slice(0, 64)
  return code === '' ? fallback : code
}

export function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Fields) : undefined
  } catch {
    return undefined
  }
}
