import type { Clock } from '../../../../base/clock.ts'
import type { Environment } from '../../../../base/config.ts'
import { commonScopes } from '../../../../domain/access.ts'
import { createApiKey, type RandomBytes } from '../../../../domain/api-keys.ts'
import {
  findApiKey,
  insertApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../../../store/access/api-keys.ts'
import type { ApiKey } from '../../../../store/access/api-keys.ts'
import { findUser } from '../../../../store/access/users.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  KeyAnswerSchema,
  KeyCreatedSchema,
  KeyCreateSchema,
  KeyListQuerySchema,
  KeyListSchema,
  KeyParamsSchema,
  type KeyWire,
} from '../../../../wire/group-b/users.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export type KeyDeps = {
  clock: Clock
  environment: Environment
  randomBytes: RandomBytes
  forgetUser: (userId: number) => void
}

/** What an administrator does to API keys; a revoked one is out at once in this process. */
export function keyEndpoints(deps: KeyDeps): Endpoint[] {
  return [keyListEndpoint, keyCreateEndpoint(deps), keyRevokeEndpoint(deps)]
}

const keyListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/keys',
  operationId: 'listApiKeys',
  summary: 'List API keys, oldest first',
  query: KeyListQuerySchema,
  answer: KeyListSchema,
  handle: async ({ query, db }) => {
    const { user_id: userId, after_id: afterId } = query
    const { shown, last } = await pageOf(query.limit, (limit) =>
      listApiKeys(db, { userId, afterId, limit }),
    )
    return {
      success: true as const,
      api_keys: shown.map(toKeyWire),
      next_after_id: last?.id ?? null,
    }
  },
})

function keyCreateEndpoint({ clock, environment, randomBytes }: KeyDeps): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'POST /api/admin/keys',
    operationId: 'createApiKey',
    summary: 'Create an API key for a user; the key is shown once',
    body: KeyCreateSchema,
    status: 201,
    answer: KeyCreatedSchema,
    hasSecret: true,
    handle: async ({ body, db }) => {
      const user = await findUser(db, body.user_id)
      if (!user) {
        const message = 'There is no user with this id.'
        throw invalidRequest([{ field: 'user_id', code: 'unknown_user', message }])
      }
      const scopes = commonScopes(body.scopes, user.scopes)
      if (scopes.length === 0) {
        const message = 'The user has none of these scopes. Give the key scopes of its user.'
        throw invalidRequest([{ field: 'scopes', code: 'beyond_user', message }])
      }
      const { name, dialect = 'flat', expires_at: until } = body
      const expiresAt = until === undefined ? undefined : new Date(until)
      if (expiresAt !== undefined && expiresAt <= clock.now()) {
        const message = 'This time has passed. Send a later one, or leave it out.'
        throw invalidRequest([{ field: 'expires_at', code: 'past', message }])
      }
      const { text, sha256, shown } = createApiKey({ environment, randomBytes })
      const key = { userId: user.id, name, dialect, sha256, shown, scopes, expiresAt }
      const inserted = await insertApiKey(db, key)
      return { success: true as const, ...toKeyWire(inserted), api_key: text }
    },
  })
}

function keyRevokeEndpoint({ forgetUser }: KeyDeps): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'POST /api/admin/keys/{key_id}/revoke',
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key for good',
    params: KeyParamsSchema,
    answer: KeyAnswerSchema,
    handle: async ({ params, db }) => {
      const id = Number(params.key_id)
      const key = (await revokeApiKey(db, id)) ?? (await findApiKey(db, id))
      if (!key) throw new RequestError('not_found', 'There is no key with this id.')
      return { success: true as const, ...toKeyWire(key) }
    },
    onCommitted: (key) => forgetUser(key.user_id),
  })
}

function toKeyWire(key: ApiKey): KeyWire {
  const named = fieldsOf(key, 'id', 'userId', 'username', 'name', 'shown', 'scopes', 'dialect')
  return { ...named, ...fieldsOf(key, 'createdAt', 'expiresAt', 'usedAt', 'revokedAt') }
}
