import type { LogConfig } from 'kysely'
import { DatabaseError } from 'pg'

import { BaseError, codeOf, messageOf } from '../../base/errors.ts'

/** `unavailable`: the database serves nobody now. `busy`: others held it for too long. */
export type Trouble = 'unavailable' | 'busy'

/** Why a query failed through no fault of its own; undefined for every other failure. */
export function troubleOf(error: unknown): Trouble | undefined {
  if (error instanceof DatabaseUnavailableError) return 'unavailable'
  if (error instanceof NeededFirstError) return 'busy'
  if (!(error instanceof Error) || error instanceof BaseError) return undefined
  const state = codeOf(error) ?? ''
  if (BUSY.has(state)) return 'busy'
  return UNAVAILABLE.has(state) || UNAVAILABLE_CLASSES.has(state.slice(0, 2))
    ? 'unavailable'
    : undefined
}

const BUSY: ReadonlySet<string> = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // lock_timeout
  '57014', // statement_timeout
])

/** SQLSTATE's classes: of connections, of resources that ran out, and of the system beneath. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '58'])

/** SQLSTATE of a standby, which cannot write. */
export const READ_ONLY = '25006'

const UNAVAILABLE: ReadonlySet<string> = new Set([
  READ_ONLY,
  '25P03', // idle_in_transaction_session_timeout
  '57P01', // the server stops
  '57P02', // it crashed
  '57P03', // it starts
  '57P04', // the database was dropped
  '57P05', // idle_session_timeout
])

/** Whether the disk, the memory or the connections of the server ran out. */
function isShortage(error: unknown): boolean {
  const { cause } = error instanceof DatabaseUnavailableError ? error : { cause: error }
  return codeOf(cause)?.startsWith('53') ?? false
}

/** Whether the driver itself failed, at the connection, rather than the server at the query. */
export function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof DatabaseError) return false
  // A value that cannot be sent, or read, is a mistake of ours.
  return ![TypeError, RangeError, SyntaxError].some((mistake) => error instanceof mistake)
}

/** There is no connection to the database, or the one that there was has ended. */
export class DatabaseUnavailableError extends BaseError {
  constructor(cause: unknown) {
    const reason = codeOf(cause)
    super(
      `The database cannot be used now: ${messageOf(cause) || reason}. ` +
        'Check that it runs, accepts this program and has free connections.',
      { code: 'database_unavailable', retryable: true, cause, details: { reason } },
    )
  }
}

/** Thrown in a transaction that must not wait for what `fetch` brings. */
export class NeededFirstError extends BaseError {
  readonly fetch: () => Promise<void>

  constructor(fetch: () => Promise<void>) {
    super('Other requests changed the same records each time. Nothing was done. Try again.', {
      code: 'needed_first',
      retryable: true,
    })
    this.fetch = fetch
  }
}

/**
 * Remembers for a while that something ran out: a full disk fails only what writes, and a lack of
 * connections only what needs another one.
 */
export type Shortage = {
  /** For the database, so that each query that fails is looked at. */
  logging: { log: LogConfig }
  note: (error: unknown) => void
  /** Throws what ran out a moment ago. */
  refuse: () => void
}

export function createShortage(): Shortage {
  let last: { error: unknown; atMs: number } | undefined
  const note = (error: unknown): void => {
    if (isShortage(error)) last = { error, atMs: performance.now() }
  }
  return {
    logging: { log: (event) => void (event.level === 'error' && note(event.error)) },
    note,
    refuse() {
      if (last === undefined || performance.now() - last.atMs >= REMEMBERED_MS) return
      throw new DatabaseUnavailableError(last.error)
    },
  }
}

const REMEMBERED_MS = 10_000
