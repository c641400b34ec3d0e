import type { KyselyPlugin } from 'kysely'

import type { Db } from '../../src/store/database.ts'

export type Crashes = {
  /** The same database for a program that dies before or after the statement of its fate. */
  db: (db: Db) => Db
  /** Names the points of the next life. */
  arm: (points: readonly number[]) => void
  /** How many points were passed at which the program could have died. */
  passed: () => number
}

/**
 * Dies at the points that are named, counted from one on: before and after each statement, so also
 * before and after each call to another party that stands between two of them.
 */
export function createCrashes(): Crashes {
  let points: readonly number[] = []
  let passed = 0
  const pass = (): void => {
    passed += 1
    if (points.includes(passed)) throw new CrashError(passed)
  }
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      pass()
      return node
    },
    async transformResult({ result }) {
      pass()
      return result
    },
  }
  return {
    db: (db) => db.withPlugin(plugin),
    arm(next) {
      points = next
      passed = 0
    },
    passed: () => passed,
  }
}

/** What no code may catch and call an answer. */
class CrashError extends Error {
  constructor(point: number) {
    super(`died at point ${point}`)
  }
}
