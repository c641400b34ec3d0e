import type { KyselyPlugin } from 'kysely'

import type { Db } from '../../src/store/database.ts'

/** A database that fails at a statement of the test's choice, as if killed there. */
export type CrashingDb = {
  db: Db
  /** Fails at the statement of that number from now, the first being 1; undefined: at none. */
  arm: (statement: number | undefined) => void
  /** Whether it has failed since it was armed. */
  hasCrashed: () => boolean
  /** How often it has failed in all. */
  count: () => number
}

export function crashing(inner: Db): CrashingDb {
  let left: number | undefined
  let crashed = false
  let count = 0
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      if (left === undefined) return node
      // Nothing comes after a crash: a program that goes on is dead all the same.
      if (crashed || --left === 0) {
        if (!crashed) count += 1
        crashed = true
        throw new CrashError()
      }
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    db: inner.withPlugin(plugin),
    arm(statement) {
      left = statement
      crashed = false
    },
    hasCrashed: () => crashed,
    count: () => count,
  }
}

/** Runs the work with a crash at its first statement, then at its second, until it gets through. */
export async function crashEverywhere(
  crashes: CrashingDb,
  work: () => Promise<unknown>,
  afterCrash: () => Promise<void>,
): Promise<void> {
  for (let statement = 1; statement <= MAX_STATEMENTS; statement++) {
    crashes.arm(statement)
    try {
      await work()
    } catch (error) {
      if (!crashes.hasCrashed()) throw error
    }
    const hasCrashed = crashes.hasCrashed()
    crashes.arm(undefined)
    if (!hasCrashed) return
    await afterCrash()
  }
  throw new Error('the work never ended')
}

const MAX_STATEMENTS = 500

class CrashError extends Error {}
