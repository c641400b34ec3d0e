import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop } from '../base/loop.ts'
import { pruneSigningKeys } from '../store/access/signing-keys.ts'
import type { Database, Db } from '../store/database/database.ts'
import { prune, vacuumNext, type Prunable } from '../store/database/upkeep.ts'
import { pruneNotifications } from '../store/webhooks/deliveries.ts'

export type Maintenance = { stop: () => Promise<void> }

/**
 * Removes what has outlived its use, in small batches. Any number of processes may do it at once.
 */
export function startMaintenance(deps: {
  database: Pick<Database, 'kind' | 'db'>
  clock: Clock
  logger: Logger
  signal: AbortSignal
}): Maintenance {
  const { database, clock, logger, signal } = deps
  const { db } = database
  const tasks = Object.entries(database.kind === 'embedded' ? { ...TASKS, tables } : TASKS)
  const loop = createLoop({
    name: 'maintenance',
    clock,
    logger,
    intervalMs: PAUSE_MS,
    async pass() {
      for (const [name, task] of tasks) {
        if (signal.aborted) return
        await task({ db, clock, signal }).catch((error: unknown) => {
          logger.warn({ err: error, task: name }, 'maintenance failed and is tried again')
        })
      }
    },
  })
  const done = loop.run(signal)
  return { stop: () => done }
}

const PAUSE_MS = 60_000
const TABLE_PAUSE_MS = 1000
const BATCH = 1000
const MAX_BATCHES = 100
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Task = (options: { db: Db; clock: Clock; signal: AbortSignal }) => Promise<void>

const TASKS: Readonly<Record<string, Task>> = {
  answers: pruning(30 * DAY_MS, batchesOf('answers')),
  notifications: pruning(30 * DAY_MS, pruneNotifications),
  rateLimits: pruning(HOUR_MS, batchesOf('rateLimits')),
  samples: pruning(30 * DAY_MS, batchesOf('samples')),
  spans: pruning(2 * DAY_MS, batchesOf('spans')),
  traces: pruning(30 * DAY_MS, batchesOf('traces')),
  // A token lives one hour; its key is kept for twice that.
  signingKeys: ({ db, clock }) => pruneSigningKeys(db, before(clock.now(), 2 * HOUR_MS)),
}

/** A server does this by itself. After each table those have their turn who waited for it. */
const tables: Task = async ({ db, clock, signal }) => {
  for (let count = 0; count < MAX_BATCHES && !signal.aborted; count++) {
    if ((await vacuumNext(db)) === undefined) return
    await clock.sleep(TABLE_PAUSE_MS, signal)
  }
}

/**
 * Batch after batch, so that a flood is gone as fast as it came, and no batch locks for long. What
 * is left after so many waits for the next round.
 */
function pruning(ageMs: number, removeBatch: RemoveBatch): Task {
  return async ({ db, clock, signal }) => {
    const olderThan = before(clock.now(), ageMs)
    for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch++) {
      if ((await removeBatch(db, { olderThan, limit: BATCH })) < BATCH) return
    }
  }
}

type RemoveBatch = (db: Db, wanted: { olderThan: Date; limit: number }) => Promise<number>

function batchesOf(what: Prunable): RemoveBatch {
  return (db, wanted) => prune(db, { ...wanted, what })
}

function before(now: Date, ms: number): Date {
  return new Date(now.getTime() - ms)
}
