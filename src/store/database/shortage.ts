import type { LogConfig } from 'kysely'

import { DatabaseUnavailableError, isShortage } from './trouble.ts'

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
