import { sql } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import type { Scope } from '../../domain/access.ts'
import { USERNAME_FORM } from '../../domain/passwords.ts'
import type { Db } from '../database/database.ts'

export type User = {
  id: number
  username: string
  scopes: Scope[]
  /** A token of an earlier generation has ended. */
  tokenGeneration: number
  isDemo: boolean
  createdAt: Date
  disabledAt: Date | null
}

/** The username is one whatever its case. */
export async function insertUser(
  db: Db,
  user: { username: string; passwordHash: string; scopes: readonly Scope[]; isDemo?: boolean },
): Promise<User> {
  if (!new RegExp(USERNAME_FORM).test(user.username)) throw new BadUsernameError(user.username)
  const { rows } = await sql<User>`
    insert into users (username, password_hash, scopes, is_demo)
    values (${user.username}, ${user.passwordHash}, ${user.scopes}, ${user.isDemo ?? false})
    on conflict (lower(username)) do nothing
    returning ${COLUMNS}`.execute(db)
  const [inserted] = rows
  if (!inserted) throw new UsernameTakenError(user.username)
  return inserted
}

export async function findUser(db: Db, id: number): Promise<User | undefined> {
  const { rows } = await sql<User>`select ${COLUMNS} from users where id = ${id}`.execute(db)
  return rows[0]
}

export async function findUserByName(
  db: Db,
  username: string,
): Promise<(User & { passwordHash: string }) | undefined> {
  const { rows } = await sql<User & { passwordHash: string }>`
    select ${COLUMNS}, password_hash as "passwordHash" from users
    where lower(username) = lower(${username})`.execute(db)
  return rows[0]
}

/** One page, oldest first; the next one starts after the last id. */
export async function listUsers(db: Db, page: { afterId: number; limit: number }): Promise<User[]> {
  const { rows } = await sql<User>`
    select ${COLUMNS} from users where id > ${page.afterId}
    order by id limit ${page.limit}`.execute(db)
  return rows
}

/**
 * Ends the user's tokens for good, and keeps its keys out until it is enabled. Undefined where no
 * such user is enabled.
 */
export async function disableUser(db: Db, username: string): Promise<User | undefined> {
  const { rows } = await sql<User>`
    update users set disabled_at = now(), token_generation = token_generation + 1
    where lower(username) = lower(${username}) and disabled_at is null
    returning ${COLUMNS}`.execute(db)
  return rows[0]
}

/** Undefined where no such user is disabled. */
export async function enableUser(db: Db, username: string): Promise<User | undefined> {
  const { rows } = await sql<User>`
    update users set disabled_at = null
    where lower(username) = lower(${username}) and disabled_at is not null
    returning ${COLUMNS}`.execute(db)
  return rows[0]
}

/** Also ends the user's tokens, because anyone who knew the old password may have one. */
export async function replacePassword(
  db: Db,
  change: { userId: number; passwordHash: string },
): Promise<void> {
  await sql`
    update users
    set password_hash = ${change.passwordHash}, token_generation = token_generation + 1
    where id = ${change.userId}`.execute(db)
}

export async function hasDemoUsers(db: Db): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from users where is_demo) as found`.execute(db)
  return rows[0]?.found === true
}

const COLUMNS = sql`
  id, username, scopes, token_generation as "tokenGeneration", is_demo as "isDemo",
  created_at as "createdAt", disabled_at as "disabledAt"`

class UsernameTakenError extends BaseError {
  constructor(username: string) {
    super(`The name ${username} is taken. Choose another name.`, {
      code: 'username_taken',
      details: { username },
    })
  }
}

class BadUsernameError extends BaseError {
  constructor(username: string) {
    super(
      `"${username}" is not a username: use 1 to 64 letters, digits, dots, dashes, underscores ` +
        'or @, and start with a letter or a digit.',
      { code: 'bad_username', details: { username } },
    )
  }
}
