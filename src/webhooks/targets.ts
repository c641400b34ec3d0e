import { Resolver } from 'node:dns/promises'

import type { Environment } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { isLoopback, isPublic, readAddress, type Address } from './address.ts'

/** An address that a webhook may go to, as far as its text tells. */
export type Target = {
  url: URL
  /** A name, or an address without brackets. */
  host: string
}

/** Decides where webhooks may go, so that nobody reaches through us what only we can reach. */
export type Targets = {
  /** Refuses by the text alone: `url_invalid`, `url_not_https`. */
  read: (url: string) => Target
  /**
   * Finds every address of the target, and refuses it unless all may be connected to:
   * `name_unknown`, `address_forbidden`. Connect to one of these and to no other: asked again, the
   * name could have another answer.
   */
  locate: (target: Target, signal: AbortSignal) => Promise<Address[]>
}

export function createTargets(deps: {
  environment: Environment
  /** Where this program listens: only while nobody else reaches it, webhooks may come back here. */
  host: string
  resolve: Resolve
}): Targets {
  const { environment, host, resolve } = deps
  const allowsLoopback = environment === 'sandbox' && isLoopbackHost(host)
  const mayLoop = (host: string) => allowsLoopback && isLoopbackHost(host)
  return {
    read(text) {
      const target = readTarget(text)
      const { protocol } = target.url
      const isAllowed = protocol === 'https:' || (protocol === 'http:' && mayLoop(target.host))
      if (!isAllowed) throw new NotHttpsError({ allowsLoopback })
      return target
    },
    async locate({ host }, signal) {
      const addresses = await find(host, { resolve, signal })
      if (addresses.length === 0) throw new NameUnknownError(host)
      const isAllowed = mayLoop(host) ? isLoopback : isPublic
      if (!addresses.every(isAllowed)) throw new ForbiddenAddressError(host)
      return addresses
    },
  }
}

/**
 * The URL standard reads `2130706433`, `0x7f.1` and `0177.0.0.1` as the IPv4 addresses that they
 * are, so only its result is looked at. It knows no zones and refuses them.
 */
function readTarget(text: string): Target {
  const url = FORM.test(text) ? URL.parse(text) : null
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '' || url.hash) {
    throw new InvalidUrlError()
  }
  return { url, host: url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '') }
}

/** No spaces, control characters or letters that look like others, and a host where it belongs. */
const FORM = /^https?:\/\/(?![/\\])[\x21-\x7e]{1,2040}$/i

/** RFC 6761: these names are this machine, whatever anybody answers. */
export function isLoopbackHost(host: string): boolean {
  const address = readAddress(host)
  return address ? isLoopback(address) : /(^|\.)localhost$/i.test(host)
}

async function find(
  host: string,
  { resolve, signal }: { resolve: Resolve; signal: AbortSignal },
): Promise<Address[]> {
  const literal = readAddress(host)
  if (literal) return [literal]
  return /^localhost$/i.test(host) ? LOCALHOST : resolve(host, signal)
}

const LOCALHOST: Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

class InvalidUrlError extends BaseError {
  constructor() {
    super(
      'This is not an address for a webhook. Send a URL of at most 2,048 ASCII ' +
        'characters, without a user, a password or a fragment.',
      { code: 'url_invalid' },
    )
  }
}

class NotHttpsError extends BaseError {
  constructor({ allowsLoopback }: { allowsLoopback: boolean }) {
    const exception = allowsLoopback ? ', or http to this machine in the sandbox' : ''
    super(`Webhooks go only to https${exception}. Send another address.`, {
      code: 'url_not_https',
    })
  }
}

class NameUnknownError extends BaseError {
  constructor(host: string) {
    super(`${host} has no address in DNS. Correct the name, or publish its address.`, {
      code: 'name_unknown',
      retryable: true,
      details: { host },
    })
  }
}

/** The address itself is not told: it may be somebody else's secret. */
class ForbiddenAddressError extends BaseError {
  constructor(host: string) {
    super(`${host} is not a public address. Send a public one.`, {
      code: 'address_forbidden',
      details: { host },
    })
  }
}

/** Asks for all addresses of a name; empty where it has none. Passed in, so a test can answer. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<Address[]>

/**
 * Asks DNS itself. The system's own lookup would also read the hosts file, where only names of this
 * machine and its network stand, and each slow answer would hold one of the four threads that all
 * of the program's files and passwords share.
 */
export const resolveByDns: Resolve = async (name, signal) => {
  const resolver = new Resolver({ timeout: QUESTION_TIMEOUT_MS, tries: 2 })
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return [...addressesOf(four, 4), ...addressesOf(six, 6)]
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

const QUESTION_TIMEOUT_MS = 1500

/** A missing address of one family is not a failure, nor is a server that knows one alone. */
function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): Address[] {
  if (answer.status === 'rejected') return []
  return answer.value.map((address) => ({ address, family }))
}
