import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

import { createCache } from '../../base/cache.ts'
import { limits } from '../../base/limits.ts'
import { actorOf, mayUse, type Caller } from '../../domain/access.ts'

/** Who asked with a credential that was good. */
export type Regular = { name: string; isAdmin: boolean }

/**
 * Remembers which credentials were good, by their hash, so that the door knows whose request it is
 * before anything is asked of the database. Nobody is let in by that: it only says whose turn a
 * request takes.
 */
export type Regulars = {
  find: (headers: IncomingHttpHeaders) => Regular | undefined
  remember: (headers: IncomingHttpHeaders, caller: Caller) => Regular
  forget: (headers: IncomingHttpHeaders) => void
}

export function createRegulars(): Regulars {
  const known = createCache<Regular>(limits.cachedApiKeys + limits.cachedTokens)
  return {
    find(headers) {
      const credential = credentialOf(headers)
      return credential === undefined ? undefined : known.get(credential)
    },
    remember(headers, caller) {
      // All credentials of a user are one caller, or more keys would be more turns.
      const regular = { name: actorOf(caller), isAdmin: mayUse(caller, 'admin') }
      const credential = credentialOf(headers)
      if (credential !== undefined) known.set(credential, regular)
      return regular
    },
    forget(headers) {
      const credential = credentialOf(headers)
      if (credential !== undefined) known.delete(credential)
    },
  }
}

function credentialOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders) {
  const text = authorization ?? (typeof key === 'string' ? key : undefined)
  return text === undefined ? undefined : hash('sha256', text, 'base64')
}
