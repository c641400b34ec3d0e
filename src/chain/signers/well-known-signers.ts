import type { Signers } from './signer.ts'
import { PHRASE_ACCOUNTS, PUBLISHED_ACCOUNTS, SMALL_KEY_ACCOUNTS } from './well-known-addresses.ts'

/**
 * The first signer whose key everybody can derive, as a clause that says which it is and whose key
 * that is. Only addresses are compared, so it makes no difference where the keys are kept.
 */
export function findWellKnownSigner(signers: Signers): string | undefined {
  // Any account of a seed gives the whole seed away, so its first ones are enough.
  const count = Math.min(signers.count, signers.kind === 'seed' ? SEED_ACCOUNTS : MAX_LISTED)
  for (let index = 0; index < count; index++) {
    const { address } = signers.at(index)
    const owner = wellKnownOwner(address)
    if (owner !== undefined) return `signer ${index} (${signers.kind}, ${address}) is ${owner}`
  }
  return undefined
}

/** Whose account the address is, where everybody can sign for it. */
export function wellKnownOwner(address: string): string | undefined {
  return WELL_KNOWN.get(address.toLowerCase())
}

const SEED_ACCOUNTS = 3
const MAX_LISTED = 1000

const WELL_KNOWN: ReadonlyMap<string, string> = new Map([
  ...Object.entries(PUBLISHED_ACCOUNTS).map(([owner, address]) => [address, owner] as const),
  ...Object.entries(PHRASE_ACCOUNTS).flatMap(([phrase, accounts]) =>
    accounts.map((address, at) => [address, `account ${at} of ${phrase}`] as const),
  ),
  ...SMALL_KEY_ACCOUNTS.map((address, at) => [address, `the private key ${at + 1}`] as const),
])
