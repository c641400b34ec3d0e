import { Resolver } from 'node:dns/promises'

import type { Address } from './address.ts'

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

/** Having no address of one family is no failure, and neither is a server that knows just one. */
function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): Address[] {
  if (answer.status === 'rejected') return []
  return answer.value.map((address) => ({ address, family }))
}
