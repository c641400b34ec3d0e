import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { sql } from 'kysely'

import type { Db } from '../database/database.ts'

export type SigningKey = {
  kid: string
  publicJwk: JWK
  /** Null once the key is retired. */
  privateJwk: JWK | null
  createdAt: Date
  retiredAt: Date | null
}

/**
 * Makes a first key where there is none yet. Processes that start at once agree on one.
 */
export async function ensureSigningKey(db: Db): Promise<void> {
  const keys = await listSigningKeys(db)
  if (keys.some((key) => key.retiredAt === null)) return
  await insertSigningKey(db, await createSigningKey())
}

/**
 * Signs with a new key from now on. Tokens of the old one live on until they expire, unless
 * `endTokens` drops the old keys, which is for a key that may have leaked.
 */
export async function rotateSigningKey(
  db: Db,
  options: { endTokens: boolean },
): Promise<{ kid: string }> {
  const created = await createSigningKey()
  await db.transaction().execute(async (transaction) => {
    await retireSigningKeys(transaction)
    if (options.endTokens) await deleteRetiredSigningKeys(transaction)
    await insertSigningKey(transaction, created)
  })
  return { kid: created.kid }
}

/** The newest first. */
export async function listSigningKeys(db: Db): Promise<SigningKey[]> {
  const { rows } = await sql<SigningKey>`
    select kid, public_jwk as "publicJwk", private_jwk as "privateJwk",
      created_at as "createdAt", retired_at as "retiredAt"
    from signing_keys order by created_at desc, kid limit ${MAX_KEYS}`.execute(db)
  return rows
}

/** Retired keys whose last token has expired long ago serve nobody. */
export async function pruneSigningKeys(db: Db, retiredBefore: Date): Promise<void> {
  await sql`delete from signing_keys where retired_at < ${retiredBefore}`.execute(db)
}

const MAX_KEYS = 1000

async function createSigningKey(): Promise<{ kid: string; publicJwk: JWK; privateJwk: JWK }> {
  const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const publicJwk = await exportJWK(pair.publicKey)
  const privateJwk = await exportJWK(pair.privateKey)
  return { kid: await calculateJwkThumbprint(publicJwk), publicJwk, privateJwk }
}

async function insertSigningKey(
  db: Db,
  key: { kid: string; publicJwk: JWK; privateJwk: JWK },
): Promise<void> {
  await sql`
    insert into signing_keys (kid, public_jwk, private_jwk)
    values (${key.kid}, ${JSON.stringify(key.publicJwk)}::jsonb,
      ${JSON.stringify(key.privateJwk)}::jsonb)
    on conflict do nothing`.execute(db)
}

async function retireSigningKeys(db: Db): Promise<void> {
  await sql`
    update signing_keys set retired_at = now(), private_jwk = null
    where retired_at is null`.execute(db)
}

async function deleteRetiredSigningKeys(db: Db): Promise<void> {
  await sql`delete from signing_keys where retired_at is not null`.execute(db)
}
