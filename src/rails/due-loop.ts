import { createLoop, type Loop, type LoopOptions } from '../base/loop.ts'
import type { Db } from '../store/database/database.ts'
import { msUntilDue, type Followed } from '../store/database/leases.ts'

type DueLoopDeps = Pick<LoopOptions, 'clock' | 'logger' | 'bell' | 'onProgress'> & {
  db: Db
  policy: { pollIntervalMs: number }
}

/** Makes a pass when something in the tables is due, and rests until then. */
export function createDueLoop(
  { db, policy, ...deps }: DueLoopDeps,
  of: {
    name: string
    tables: readonly Followed[]
    pass: (signal: AbortSignal) => Promise<void>
  },
): Loop {
  const { clock, logger, bell, onProgress } = deps
  return createLoop({
    name: of.name,
    clock,
    logger,
    bell,
    onProgress,
    intervalMs: policy.pollIntervalMs,
    async pass(signal) {
      const restMs = await msUntilDue(db, { tables: of.tables, now: clock.now() })
      return restMs > 0 ? restMs : of.pass(signal)
    },
  })
}
