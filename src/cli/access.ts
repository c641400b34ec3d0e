import { InvalidArgumentError, Option } from 'commander'

import { requireMigrated, withDatabase } from '../app/database.ts'
import { parseConfig, type Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { isScope, SCOPES, type Scope } from '../domain/access.ts'
import { findUserByName, type User } from '../store/access/users.ts'
import type { Db } from '../store/database/database.ts'
import { requireEnvironment } from '../store/database/installation.ts'

/** Opens the database for a command that changes who may come in. */
export async function withAccess<T>(work: (db: Db, config: Config) => Promise<T>): Promise<T> {
  const config = parseConfig(process.env)
  return withDatabase({ config }, async (database) => {
    await requireMigrated(database)
    const { db } = database
    await requireEnvironment(db, config.environment)
    return work(db, config)
  })
}

export async function requireUser(db: Db, username: string): Promise<User> {
  const user = await findUserByName(db, username)
  if (!user) throw new UserNotFoundError(username)
  return user
}

export function scopesOption(description: string): Option {
  return new Option('--scopes <scopes>', description).argParser(parseScopes)
}

/** One page of a list, which every list command takes. */
export function pageOptions(): Option[] {
  return [
    new Option('--limit <count>', 'rows to show, from 1 to 1000')
      .default(100)
      .argParser(parseLimit),
    new Option('--after <id>', 'start after this id').default(0).argParser(parseId),
  ]
}

export function parseId(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('An id must be a whole number.')
  return Number(text)
}

/** The fewest words for what the scopes allow: writing includes reading. */
export function formatScopes(scopes: readonly Scope[]): string {
  if (scopes.includes('admin')) return 'admin'
  const writes = SCOPES.filter((scope) => scope.endsWith(':write'))
  if (writes.every((scope) => scopes.includes(scope))) return 'all but admin'
  const needed = scopes.filter(
    (scope) => !scopes.includes(scope.replace(/:read$/, ':write') as Scope) || isWrite(scope),
  )
  return needed.join(' ') || 'none'
}

function isWrite(scope: Scope): boolean {
  return scope.endsWith(':write')
}

function parseScopes(text: string): Scope[] {
  const scopes = text.split(/[\s,]+/).filter((part) => part !== '')
  const unknown = scopes.filter((scope) => !isScope(scope))
  if (scopes.length === 0 || unknown.length > 0) {
    const what = unknown.length > 0 ? `${unknown.join(', ')} is not a scope` : 'No scope is given'
    throw new InvalidArgumentError(`${what}. There are: ${SCOPES.join(', ')}.`)
  }
  return SCOPES.filter((scope) => scopes.includes(scope))
}

export function parseLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d{1,4}$/.test(text) || limit < 1 || limit > 1000) {
    throw new InvalidArgumentError('The limit must be a whole number from 1 to 1000.')
  }
  return limit
}

class UserNotFoundError extends BaseError {
  constructor(username: string) {
    super(`There is no user named ${username}. See: quittance users list`, {
      code: 'user_not_found',
      details: { username },
    })
  }
}
