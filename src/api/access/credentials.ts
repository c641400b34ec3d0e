import { createFreshCache } from '../../base/cache.ts'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { actorOf, commonScopes, type Caller } from '../../domain/access.ts'
import { hashOfKey } from '../../domain/api-keys.ts'
import { findApiKeyState, noteKeyUse } from '../../store/access/api-keys.ts'
import { findUser } from '../../store/access/users.ts'
import type { Db } from '../../store/database/database.ts'
import type { Tokens } from './tokens.ts'

/**
 * Finds the caller of a credential. Rows are remembered for at most 5 seconds, so a repeated
 * request costs no query, and what another process disables or revokes ends within that time.
 */
export type Credentials = {
  /** Undefined where the key is unknown, revoked or expired, or its user disabled. */
  callerOfKey: (key: string) => Promise<Caller | undefined>
  /** Undefined where the token is not valid, has ended, or its user is disabled. */
  callerOfToken: (token: string) => Promise<Caller | undefined>
  /** Makes a change to the user or its keys count at once in this process. */
  forgetUser: (userId: number) => void
}

export function createCredentials(deps: { db: Db; clock: Clock; tokens: Tokens }): Credentials {
  const { db, clock, tokens } = deps
  const ages = { refreshMs: limits.accessRefreshMs, limitMs: limits.accessStaleMs, clock }
  const keys = createFreshCache<KeyDoor>({
    load: (sha256) => loadKey(deps, sha256),
    capacity: limits.cachedApiKeys,
    ...ages,
  })
  const users = createFreshCache<UserDoor>({
    load: (id) => loadUser(db, Number(id)),
    capacity: limits.cachedUsers,
    ...ages,
  })

  return {
    async callerOfKey(key) {
      const door = await keys.get(hashOfKey(key))
      const hasExpired = door !== undefined && door.expiresAtMs <= clock.now().getTime()
      return door?.isOpen && !hasExpired ? door.caller : undefined
    },
    async callerOfToken(token) {
      const claims = await tokens.verify(token)
      if (!claims) return undefined
      const door = await users.get(String(claims.userId))
      if (!door?.isOpen) return undefined
      // A token from after a password change reaches this process before the change itself does.
      if (claims.generation > door.generation) {
        const newest = await users.get(String(claims.userId), { maxAgeMs: 0 })
        return newest?.isOpen && newest.generation === claims.generation ? newest.caller : undefined
      }
      return claims.generation === door.generation ? door.caller : undefined
    },
    forgetUser(userId) {
      keys.forget((door) => door.caller.userId === userId)
      users.forget((door) => door.caller.userId === userId)
    },
  }
}

const NOTED_MS = 60_000

type Door = { caller: Caller; isOpen: boolean }
type KeyDoor = Door & { expiresAtMs: number }
type UserDoor = Door & { generation: number }

async function loadKey(
  { db, clock }: { db: Db; clock: Clock },
  sha256: string,
): Promise<KeyDoor | undefined> {
  const state = await findApiKeyState(db, sha256)
  if (!state) return undefined
  const caller: Caller = {
    userId: state.userId,
    username: state.username,
    scopes: commonScopes(state.userScopes, state.scopes),
    dialect: state.dialect,
    credential: `key:${state.id}`,
  }
  const isOpen = state.revokedAt === null && state.userDisabledAt === null
  const expiresAtMs = state.expiresAt?.getTime() ?? Infinity
  const now = clock.now()
  const isUsed = isOpen && now.getTime() < expiresAtMs
  const usedAtMs = state.usedAt?.getTime() ?? -Infinity
  if (isUsed && now.getTime() - usedAtMs >= NOTED_MS) {
    // A database that takes no writes now still answers who it is.
    await noteKeyUse(db, state.id, now).catch(() => undefined)
  }
  return { caller, isOpen, expiresAtMs }
}

async function loadUser(db: Db, id: number): Promise<UserDoor | undefined> {
  const user = await findUser(db, id)
  if (!user) return undefined
  const caller: Caller = {
    userId: user.id,
    username: user.username,
    scopes: user.scopes,
    dialect: 'flat',
    credential: actorOf({ userId: user.id }),
  }
  return { caller, isOpen: user.disabledAt === null, generation: user.tokenGeneration }
}
