import type { Clock } from '../../base/clock.ts'
import type { Environment } from '../../base/config.ts'
import type { Db } from '../../store/database/database.ts'
import type { Authenticate, LimitRate } from '../admission/endpoint.ts'
import { createAuthenticate } from './authenticate.ts'
import { createCredentials, type Credentials } from './credentials.ts'
import { createRateLimits, type RateLimits, type RateSettings } from './limit-rate.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** Who may come in, and how often: all of it over one memory, one per process. */
export type Access = {
  authenticate: Authenticate
  limitRate: LimitRate
  /** What a login takes and gives. */
  limitLogin: RateLimits['limitLogin']
  tokens: Tokens
  forgetUser: Credentials['forgetUser']
}

export function createAccess(deps: {
  /** The database itself, never an open transaction: what is counted stays counted. */
  db: Db
  clock: Clock
  environment: Environment
  rates?: Partial<RateSettings>
}): Access {
  const { db, clock, environment, rates = {} } = deps
  const tokens = createTokens({ db, clock, environment })
  const credentials = createCredentials({ db, clock, tokens })
  const limiter = createRateLimiter({ db, clock })
  const { limitRate, limitFailures, limitLogin } = createRateLimits({ limiter, rates })
  return {
    authenticate: createAuthenticate({ environment, credentials, limitFailures }),
    limitRate,
    limitLogin,
    tokens,
    forgetUser: credentials.forgetUser,
  }
}
