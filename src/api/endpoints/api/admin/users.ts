import { codeOf } from '../../../../base/errors.ts'
import { problemOfPassword } from '../../../../domain/passwords.ts'
import { hashPassword } from '../../../../store/access/passwords.ts'
import {
  disableUser,
  enableUser,
  findUser,
  insertUser,
  listUsers,
  type User,
} from '../../../../store/access/users.ts'
import type { Db } from '../../../../store/database/database.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  UserAnswerSchema,
  UserCreateSchema,
  UserListQuerySchema,
  UserListSchema,
  UserParamsSchema,
  type UserWire,
} from '../../../../wire/group-b/users.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { pageOf } from '../../lists.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

/** What an administrator does to users; the changes count at once in this process. */
export function userEndpoints(deps: { forgetUser: (userId: number) => void }): Endpoint[] {
  return [userListEndpoint, userCreateEndpoint, setUser('disable', deps), setUser('enable', deps)]
}

const userListEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'GET /api/admin/users',
  operationId: 'listUsers',
  summary: 'List the users, oldest first',
  query: UserListQuerySchema,
  answer: UserListSchema,
  handle: async ({ query, db }) => {
    const { shown, last } = await pageOf(query.limit, (limit) =>
      listUsers(db, { afterId: query.after_id, limit }),
    )
    return {
      success: true as const,
      users: shown.map(toUserWire),
      next_after_id: last?.id ?? null,
    }
  },
})

const userCreateEndpoint = defineEndpoint({
  ...ADMINISTRATION,
  route: 'POST /api/admin/users',
  operationId: 'createUser',
  summary: 'Add a user who can sign in with a password',
  body: UserCreateSchema,
  status: 201,
  answer: UserAnswerSchema,
  failures: ['conflict'],
  hasSecret: true,
  prepare: async ({ body }) => {
    const problem = problemOfPassword(body)
    if (problem !== undefined) {
      const message = `The password ${problem}.`
      throw invalidRequest([{ field: 'password', code: 'weak_password', message }])
    }
    return { passwordHash: await hashPassword(body.password) }
  },
  handle: async ({ body: { username, scopes }, db, prepared }) => {
    const user = await insertUser(db, { username, scopes, ...prepared }).catch((error: unknown) => {
      if (codeOf(error) !== 'username_taken') throw error
      throw new RequestError('conflict', `The name ${username} is taken. Choose another one.`, {
        cause: error,
      })
    })
    return { success: true as const, ...toUserWire(user) }
  },
})

function setUser(
  verb: 'disable' | 'enable',
  { forgetUser }: { forgetUser: (userId: number) => void },
): Endpoint {
  return defineEndpoint({
    ...ADMINISTRATION,
    route: `POST /api/admin/users/{user_id}/${verb}`,
    operationId: `${verb}User`,
    summary:
      verb === 'disable'
        ? 'Disable a user: tokens end for good, and keys stop until the user is enabled'
        : 'Enable a disabled user; tokens from before stay ended',
    params: UserParamsSchema,
    answer: UserAnswerSchema,
    failures: ['conflict'],
    handle: async ({ params, caller, db }) => {
      const user = await requireUser(db, Number(params.user_id))
      if (verb === 'disable' && user.id === caller.userId) {
        throw new RequestError(
          'conflict',
          'You cannot disable yourself. Ask another administrator.',
        )
      }
      const change = verb === 'disable' ? disableUser : enableUser
      const changed = (await change(db, user.username)) ?? user
      return { success: true as const, ...toUserWire(changed) }
    },
    onCommitted: ({ id }) => forgetUser(id),
  })
}

async function requireUser(db: Db, id: number): Promise<User> {
  const user = await findUser(db, id)
  if (!user) throw new RequestError('not_found', 'There is no user with this id.')
  return user
}

function toUserWire(user: User): UserWire {
  return fieldsOf(user, 'id', 'username', 'scopes', 'createdAt', 'disabledAt')
}
