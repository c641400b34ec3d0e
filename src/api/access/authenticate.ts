import type { IncomingHttpHeaders } from 'node:http'

import type { Environment } from '../../base/config.ts'
import type { Caller } from '../../domain/access.ts'
import { readApiKey } from '../../domain/api-keys.ts'
import { RequestError } from '../../wire/errors.ts'
import type { Authenticate } from '../admission/endpoint.ts'
import type { Credentials } from './credentials.ts'

/**
 * Finds out who the caller is. Both groups take an API key as `Authorization: Bearer` or as
 * `X-API-Key`, and an access token as `Authorization: Bearer`. Two credentials at once are refused,
 * since nobody could say whose request it is. Unknown, revoked, expired and disabled credentials
 * get the same answer. If the text of a key shows a typing error or another environment, the answer
 * says so.
 */
export function createAuthenticate(deps: {
  environment: Environment
  credentials: Credentials
  /** Rejects where too many attempts from the address have failed. */
  limitFailures: (remoteAddress: string) => Promise<void>
}): Authenticate {
  return async (headers, remoteAddress) => {
    try {
      return await identify(headers, deps)
    } catch (error) {
      // A request without a credential is not a try. A valid credential never waits for this limit.
      if (error instanceof UnauthorizedError && !error.isMissing) {
        await deps.limitFailures(remoteAddress)
      }
      throw error
    }
  }
}

type Deps = { environment: Environment; credentials: Credentials }

async function identify(headers: IncomingHttpHeaders, deps: Deps): Promise<Caller> {
  const { authorization, 'x-api-key': keyHeader } = headers
  if (authorization !== undefined && keyHeader !== undefined) {
    throw new UnauthorizedError(
      'Two credentials were sent. Send either Authorization or X-API-Key.',
    )
  }
  if (typeof keyHeader === 'string') return identifyByKey(keyHeader, deps)
  if (authorization === undefined) {
    throw new UnauthorizedError(
      'No credential was sent. Send an API key or an access token as Authorization: Bearer, ' +
        'or an API key as X-API-Key.',
      { isMissing: true },
    )
  }
  const credential = BEARER.exec(authorization)?.[1]
  if (credential === undefined) {
    throw new UnauthorizedError('Send Authorization as the word Bearer, a space and a credential.')
  }
  return credential.startsWith('sk_')
    ? identifyByKey(credential, deps)
    : identifyByToken(credential, deps)
}

/** RFC 6750's form of a token. It is anchored and has no choices, so length costs no more. */
const BEARER = /^bearer +([\w.~+/-]+=*)$/i

async function identifyByKey(text: string, deps: Deps): Promise<Caller> {
  const form = readApiKey(text)
  if (form.kind === 'other') {
    throw new UnauthorizedError(
      text === ''
        ? 'X-API-Key is empty. Send an API key.'
        : 'The text in X-API-Key does not have the form of an API key, which begins with ' +
            'sk_sandbox_ or sk_live_. Copy the key once more.',
    )
  }
  if (form.kind === 'mistyped') {
    throw new UnauthorizedError('The API key is incomplete or mistyped. Copy it once more.')
  }
  if (form.environment !== deps.environment) {
    throw new UnauthorizedError(
      `The key belongs to ${form.environment}, and this is ${deps.environment}. Use a key of this environment.`,
    )
  }
  const caller = await deps.credentials.callerOfKey(text)
  if (!caller) throw new UnauthorizedError('The API key is not valid. Use another one.')
  return caller
}

async function identifyByToken(text: string, deps: Deps): Promise<Caller> {
  const caller = await deps.credentials.callerOfToken(text)
  if (!caller) {
    throw new UnauthorizedError(
      'The access token is not valid or has expired. Get a new one from POST /api/token.',
    )
  }
  return caller
}

class UnauthorizedError extends RequestError {
  readonly isMissing: boolean

  constructor(message: string, options: { isMissing?: boolean } = {}) {
    const isMissing = options.isMissing ?? false
    // RFC 6750 names an error only where a credential was sent.
    const challenge = `Bearer realm="quittance"${isMissing ? '' : ', error="invalid_token"'}`
    super('unauthorized', message, { headers: { 'www-authenticate': challenge } })
    this.isMissing = isMissing
  }
}
