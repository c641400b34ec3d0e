import { createHash, randomUUID } from 'node:crypto'

import { errors, importJWK, jwtVerify, SignJWT, type CryptoKey, type JWTPayload } from 'jose'

import { createCache, createFreshCache } from '../../base/cache.ts'
import type { Clock } from '../../base/clock.ts'
import type { Environment } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { listSigningKeys } from '../../store/access/signing-keys.ts'
import type { Db } from '../../store/database/database.ts'

/** What a token proves. Whether its user is still let in, the user's row tells. */
export type TokenClaims = {
  userId: number
  generation: number
}

export type Tokens = {
  issue: (claims: TokenClaims) => Promise<string>
  /** Undefined for everything that is not a valid token, without the reason. */
  verify: (token: string) => Promise<TokenClaims | undefined>
}

export const TOKEN_LIFE_S = 3600

/**
 * Access tokens: JWTs with an Ed25519 signature by a key from the database. A token that was
 * verified is known by its hash from then on.
 */
export function createTokens(deps: { db: Db; clock: Clock; environment: Environment }): Tokens {
  const { clock } = deps
  const names = namesOf(deps.environment)
  const verified = createCache<VerifiedToken>(limits.cachedTokens)
  const keyrings = createFreshCache<Keyring>({
    load: () => loadKeyring(deps.db),
    capacity: 1,
    refreshMs: limits.accessRefreshMs,
    limitMs: limits.accessStaleMs,
    clock,
  })

  return {
    async issue(claims) {
      const ring = await keyrings.get(RING)
      if (!ring?.signer) throw new NoSigningKeyError()
      const nowS = Math.floor(clock.now().getTime() / 1000)
      return new SignJWT({ gen: claims.generation })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid: ring.signer.kid })
        .setSubject(String(claims.userId))
        .setIssuer(names.issuer)
        .setAudience(names.audience)
        .setJti(randomUUID())
        .setIssuedAt(nowS)
        .setNotBefore(nowS)
        .setExpirationTime(nowS + TOKEN_LIFE_S)
        .sign(ring.signer.key)
    },
    async verify(token) {
      if (token.length > MAX_TOKEN_LENGTH) return undefined
      const hash = createHash('sha256').update(token).digest('base64')
      const known = verified.get(hash)
      const ring = await keyrings.get(RING)
      if (known && ring && isCurrent(known, ring, clock)) return known.claims
      const kid = readKid(token)
      if (kid === undefined) return undefined
      // A key that another process has just made is looked for, though not for each stray token.
      const newest = ring?.verifiers.has(kid)
        ? ring
        : await keyrings.get(RING, { maxAgeMs: limits.unknownSigningKeyMs })
      const found = newest && (await verifyBy({ token, kid, ring: newest, names, clock }))
      if (found) verified.set(hash, found)
      return found?.claims
    },
  }
}

/** A database holds one set of keys, so the cache has one key. */
const RING = 'ring'
const ALGORITHM = 'EdDSA'
const TYPE = 'JWT'
/** Ours have 480 characters. */
const MAX_TOKEN_LENGTH = 2048
const CLOCK_TOLERANCE_S = 5
/** For how long after a rotation another process may have signed with the old key. */
const LATE_SIGNATURE_S = 60

type Names = { issuer: string; audience: string }

type VerifiedToken = { claims: TokenClaims; kid: string; expiresAtS: number }

type Verifier = { key: CryptoKey; retiredAtS: number }

type Keyring = {
  signer: { kid: string; key: CryptoKey } | undefined
  verifiers: ReadonlyMap<string, Verifier>
}

/** Both name the environment, so that a token of one is not valid in another. */
function namesOf(environment: Environment): Names {
  return {
    issuer: `urn:quittance:${environment}`,
    audience: `urn:quittance:${environment}:api`,
  }
}

async function loadKeyring(db: Db): Promise<Keyring> {
  const verifiers = new Map<string, Verifier>()
  let signer: Keyring['signer']
  for (const { kid, publicJwk, privateJwk, retiredAt } of await listSigningKeys(db)) {
    const retiredAtS = retiredAt === null ? Infinity : retiredAt.getTime() / 1000
    verifiers.set(kid, { key: (await importJWK(publicJwk, ALGORITHM)) as CryptoKey, retiredAtS })
    if (!privateJwk) continue
    signer = { kid, key: (await importJWK(privateJwk, ALGORITHM)) as CryptoKey }
  }
  return { signer, verifiers }
}

function isCurrent(token: VerifiedToken, ring: Keyring, clock: Clock): boolean {
  return ring.verifiers.has(token.kid) && clock.now().getTime() / 1000 < token.expiresAtS
}

/**
 * The name of the key from the header, which nothing vouches for yet. Each token has one spelling:
 * lenient decoders would take several.
 */
function readKid(token: string): string | undefined {
  const [, header = '', signature = ''] = TOKEN_FORM.exec(token) ?? []
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return undefined
  try {
    const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as JWTPayload
    return alg === ALGORITHM && typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

const TOKEN_FORM = /^([\w-]+)\.[\w-]+\.([\w-]+)$/

async function verifyBy(options: {
  token: string
  kid: string
  ring: Keyring
  names: Names
  clock: Clock
}): Promise<VerifiedToken | undefined> {
  const { token, kid, ring, names, clock } = options
  const verifier = ring.verifiers.get(kid)
  if (!verifier) return undefined
  try {
    const { payload } = await jwtVerify(token, verifier.key, {
      algorithms: [ALGORITHM],
      issuer: names.issuer,
      audience: names.audience,
      typ: TYPE,
      requiredClaims: ['sub', 'iat', 'nbf', 'exp', 'jti', 'gen'],
      maxTokenAge: TOKEN_LIFE_S,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: clock.now(),
    })
    if ((payload.iat ?? Infinity) > verifier.retiredAtS + LATE_SIGNATURE_S) return undefined
    return readClaims(payload, kid)
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}

function readClaims(payload: JWTPayload, kid: string): VerifiedToken | undefined {
  const { sub = '', exp = 0, gen } = payload
  if (!/^[1-9]\d{0,9}$/.test(sub) || typeof gen !== 'number') return undefined
  return { claims: { userId: Number(sub), generation: gen }, kid, expiresAtS: exp }
}

class NoSigningKeyError extends BaseError {
  constructor() {
    super('There is no key to sign access tokens with. Run: quittance keys rotate-signing', {
      code: 'no_signing_key',
    })
  }
}
