import { codeOf } from '../../base/errors.ts'

/** Which statements the server keeps for a connection, so that it reads and plans them once. */
export type Prepared = {
  /** Undefined for one that is sent whole each time. */
  nameOf: (statement: string) => string | undefined
  /** Whether the connection is of no use any more, as what the server keeps is no longer ours. */
  isLost: (error: unknown) => boolean
}

/**
 * Names what is used again and again in transactions: they look rows up by their keys, and one plan
 * is right for all of them. A server plans what only reads for its own user and page each time.
 */
export function createPrepared(): Prepared {
  const uses = new Map<string, number>()
  const names = new Map<string, string>()
  let isOff = false
  return {
    nameOf(statement) {
      if (isOff) return undefined
      const known = names.get(statement)
      if (known !== undefined || names.size >= MAX_NAMES) return known
      const count = (uses.get(statement) ?? 0) + 1
      if (count < USES) {
        if (uses.size < MAX_COUNTED || uses.has(statement)) uses.set(statement, count)
        return undefined
      }
      uses.delete(statement)
      const name = `quittance_${names.size}`
      names.set(statement, name)
      return name
    },
    isLost(error) {
      const code = codeOf(error) ?? ''
      // A pooler that was not named gives our statements to another session.
      if (MISPLACED.has(code)) isOff = true
      return MISPLACED.has(code) || code === PLAN_CHANGED
    },
  }
}

const USES = 3
const MAX_NAMES = 256
const MAX_COUNTED = 1024

/** SQLSTATE of a name that the server does not know, and of one that it knows already. */
const MISPLACED: ReadonlySet<string> = new Set(['26000', '42P05'])

/** SQLSTATE where a migration has changed the columns of what a statement returns. */
const PLAN_CHANGED = '0A000'
