import { randomBytes } from 'node:crypto'

import { Type } from 'typebox'

import type { Endpoint } from '../../src/api/endpoint.ts'
import type { Environment } from '../../src/base/config.ts'
import { SCOPES, type Caller, type Dialect, type Scope } from '../../src/domain/access.ts'
import { createApiKey } from '../../src/domain/api-keys.ts'
import { insertApiKey, type ApiKey } from '../../src/store/api-keys.ts'
import type { Db } from '../../src/store/database.ts'
import { hashPassword } from '../../src/store/passwords.ts'
import { insertUser, type User } from '../../src/store/users.ts'

export const PASSWORD = 'correct horse battery staple'

/** A user that may do everything but administer, with `PASSWORD` unless another is given. */
export async function makeUser(
  db: Db,
  options: { username?: string; password?: string; scopes?: readonly Scope[] } = {},
): Promise<User & { password: string }> {
  const password = options.password ?? PASSWORD
  count += 1
  const user = await insertUser(db, {
    username: options.username ?? `user-${count}`,
    passwordHash: password === PASSWORD ? await hashOfPassword() : await hashPassword(password),
    scopes: options.scopes ?? SCOPES.filter((scope) => scope !== 'admin'),
  })
  return { ...user, password }
}

/** A key of the user, with its text. Its scopes are the user's unless others are given. */
export async function makeKey(
  db: Db,
  options: {
    user: User
    environment?: Environment
    scopes?: readonly Scope[]
    dialect?: Dialect
    name?: string
  },
): Promise<ApiKey & { text: string }> {
  const { user } = options
  const created = createApiKey({ environment: options.environment ?? 'sandbox', randomBytes })
  const key = await insertApiKey(db, {
    userId: user.id,
    name: options.name ?? 'test',
    sha256: created.sha256,
    shown: created.shown,
    scopes: options.scopes ?? user.scopes,
    dialect: options.dialect ?? 'flat',
  })
  return { ...key, text: created.text }
}

/** What authentication makes of the user, for tests that start below it. */
export function callerOf(user: User, options: Partial<Caller> = {}): Caller {
  return {
    userId: user.id,
    username: user.username,
    scopes: user.scopes,
    dialect: 'flat',
    credential: `user:${user.id}`,
    ...options,
  }
}

let count = 0
let hashed: Promise<string> | undefined

/** Hashing takes 20 ms, so the password that all share is hashed once. */
function hashOfPassword(): Promise<string> {
  hashed ??= hashPassword(PASSWORD)
  return hashed
}

/** An operation of the group, for what only asks which group it is. */
export function anEndpoint(group: Endpoint['group'] = 'b'): Endpoint {
  return {
    group,
    method: 'GET',
    path: group === 'a' ? '/v1/test' : '/api/test',
    operationId: 'test',
    tag: 'Test',
    summary: 'Stands for any other',
    access: 'transactions:read',
    status: 200,
    answer: Type.Object({}),
    handle: async () => ({}),
  }
}
