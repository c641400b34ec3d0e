import { sql } from 'kysely'

import type { Dialect, Scope } from '../../domain/access.ts'
import type { Db } from '../database/database.ts'

export type ApiKey = {
  id: number
  userId: number
  username: string
  name: string
  shown: string
  scopes: Scope[]
  dialect: Dialect
  createdAt: Date
  /** Null: it does not expire. */
  expiresAt: Date | null
  /** When it last opened the door, to the minute; null: never. */
  usedAt: Date | null
  revokedAt: Date | null
}

/** A key with all that decides whether it opens the door now. */
export type ApiKeyState = {
  id: number
  userId: number
  username: string
  scopes: Scope[]
  userScopes: Scope[]
  dialect: Dialect
  expiresAt: Date | null
  usedAt: Date | null
  revokedAt: Date | null
  userDisabledAt: Date | null
}

export async function insertApiKey(
  db: Db,
  key: {
    userId: number
    name: string
    sha256: string
    shown: string
    scopes: readonly Scope[]
    dialect: Dialect
    expiresAt?: Date | undefined
  },
): Promise<ApiKey> {
  const { rows } = await sql<ApiKey>`
    with inserted as (
      insert into api_keys (user_id, name, key_sha256, shown, scopes, dialect, expires_at)
      values (${key.userId}, ${key.name}, decode(${key.sha256}, 'hex'), ${key.shown},
        ${key.scopes}, ${key.dialect}, ${key.expiresAt ?? null})
      returning *)
    select ${COLUMNS} from inserted as k join users as u on u.id = k.user_id`.execute(db)
  return rows[0] as ApiKey
}

export async function findApiKeyState(db: Db, sha256: string): Promise<ApiKeyState | undefined> {
  const { rows } = await sql<ApiKeyState>`
    select k.id, k.user_id as "userId", u.username, k.scopes, u.scopes as "userScopes", k.dialect,
      k.expires_at as "expiresAt", k.used_at as "usedAt", k.revoked_at as "revokedAt",
      u.disabled_at as "userDisabledAt"
    from api_keys as k join users as u on u.id = k.user_id
    where k.key_sha256 = decode(${sha256}, 'hex')`.execute(db)
  return rows[0]
}

/** Once a minute for each key, however often it is used. */
export async function noteKeyUse(db: Db, id: number, now: Date): Promise<void> {
  await sql`update api_keys set used_at = greatest(used_at, ${now}) where id = ${id}`.execute(db)
}

export async function findApiKey(db: Db, id: number): Promise<ApiKey | undefined> {
  const { rows } = await sql<ApiKey>`
    select ${COLUMNS} from api_keys as k join users as u on u.id = k.user_id
    where k.id = ${id}`.execute(db)
  return rows[0]
}

/** One page, oldest first; all users' keys where no user is named. */
export async function listApiKeys(
  db: Db,
  page: { userId?: number | undefined; afterId: number; limit: number },
): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select ${COLUMNS} from api_keys as k join users as u on u.id = k.user_id
    where k.id > ${page.afterId}
      and (${page.userId ?? null}::integer is null or k.user_id = ${page.userId ?? null})
    order by k.id limit ${page.limit}`.execute(db)
  return rows
}

/** Undefined where there is no such key, or it is revoked already. */
export async function revokeApiKey(db: Db, id: number): Promise<ApiKey | undefined> {
  const { rows } = await sql<ApiKey>`
    with revoked as (
      update api_keys set revoked_at = now() where id = ${id} and revoked_at is null
      returning *)
    select ${COLUMNS} from revoked as k join users as u on u.id = k.user_id`.execute(db)
  return rows[0]
}

export async function revokeApiKeysNamed(
  db: Db,
  which: { userId: number; name: string },
): Promise<void> {
  await sql`
    update api_keys set revoked_at = now()
    where user_id = ${which.userId} and name = ${which.name} and revoked_at is null`.execute(db)
}

const COLUMNS = sql`
  k.id, k.user_id as "userId", u.username, k.name, k.shown, k.scopes, k.dialect,
  k.created_at as "createdAt", k.expires_at as "expiresAt", k.used_at as "usedAt",
  k.revoked_at as "revokedAt"`
