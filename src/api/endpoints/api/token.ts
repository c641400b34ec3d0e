import { createGate } from '../../../base/gate.ts'
import { limits } from '../../../base/limits.ts'
import { USERNAME_FORM } from '../../../domain/passwords.ts'
import { verifyPassword } from '../../../store/access/passwords.ts'
import { findUserByName, type User } from '../../../store/access/users.ts'
import type { Db } from '../../../store/database/database.ts'
import { RequestError } from '../../../wire/errors.ts'
import {
  TokenAnswerSchema,
  TokenRequestSchema,
  type TokenAnswer,
} from '../../../wire/group-b/token.ts'
import type { RateLimits } from '../../access/limit-rate.ts'
import { TOKEN_LIFE_S, type Tokens } from '../../access/tokens.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'

/** Exchanges a username and a password for an access token. */
export function tokenEndpoint(deps: {
  db: Db
  tokens: Tokens
  limitLogin: RateLimits['limitLogin']
}): Endpoint {
  const checkPassword = createPasswordCheck(deps.db)
  return defineEndpoint({
    route: 'POST /api/token',
    operationId: 'createToken',
    tag: 'Access',
    summary: 'Get an access token with a username and a password',
    access: 'public',
    body: TokenRequestSchema,
    answer: TokenAnswerSchema,
    failures: ['unauthorized'],
    async handle({ body, remoteAddress }): Promise<TokenAnswer> {
      // What cannot be a name is treated as a name that nobody has.
      const username = NAME.test(body.username) ? body.username : ''
      const attempt = await deps.limitLogin({ remoteAddress, username })
      const user = await checkPassword({ username, password: body.password })
      if (!user) throw new WrongPasswordError()
      attempt.succeeded()
      const claims = { userId: user.id, generation: user.tokenGeneration }
      return {
        success: true,
        access_token: await deps.tokens.issue(claims),
        token_type: 'Bearer',
        expires_in: TOKEN_LIFE_S,
        user_id: user.id,
        username: user.username,
      }
    },
  })
}

const NAME = new RegExp(USERNAME_FORM)

type PasswordCheck = (options: { username: string; password: string }) => Promise<User | undefined>

/** Hashing takes 19 MiB and a whole processor for 20 ms, so few may do it at once. */
function createPasswordCheck(db: Db): PasswordCheck {
  const gate = createGate({ width: limits.passwordChecks, maxWaiting: limits.passwordWaiters })
  return async ({ username, password }) => {
    const user = await findUserByName(db, username)
    const checked = await gate.run(() => verifyPassword(user?.passwordHash, password))
    if (!checked) throw new BusyError()
    // Only after the hash: neither may the time tell who is disabled.
    return checked.value && user?.disabledAt === null ? user : undefined
  }
}

class WrongPasswordError extends RequestError {
  constructor() {
    super('unauthorized', 'The username or the password is wrong, or the user is disabled.', {
      headers: { 'www-authenticate': 'Bearer realm="quittance"' },
    })
  }
}

class BusyError extends RequestError {
  constructor() {
    super('unavailable', 'Too many logins are in progress. Try again in 1 s.', {
      headers: { 'retry-after': '1' },
      retryable: true,
    })
  }
}
