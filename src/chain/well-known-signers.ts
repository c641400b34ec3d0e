import { toHex, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

import { createSeedSigners } from './seed.ts'
import type { Signers } from './signer.ts'

/**
 * The first signer whose key everybody can derive, as a clause that says which it is and whose key
 * that is. Only addresses are compared, so it makes no difference where the keys are kept.
 */
export function findWellKnownSigner(signers: Signers): string | undefined {
  const known = wellKnownAddresses()
  // Any account of a seed gives the whole seed away, so its first ones are enough.
  const count = Math.min(signers.count, signers.kind === 'seed' ? SEED_ACCOUNTS : MAX_LISTED)
  for (let index = 0; index < count; index++) {
    const { address } = signers.at(index)
    const owner = known.get(address.toLowerCase())
    if (owner !== undefined) return `signer ${index} (${signers.kind}, ${address}) is ${owner}`
  }
  return undefined
}

const SEED_ACCOUNTS = 3
const MAX_LISTED = 1000
/** As many as Hardhat shows; to derive more would hold up each start. */
const ACCOUNTS_PER_PHRASE = 20
const SMALL_KEYS = 16

const PHRASES: Readonly<Record<string, string>> = {
  'the phrase of anvil and Hardhat': `${'test '.repeat(11)}junk`,
  "Ganache's deterministic phrase":
    'myth like bonus scare over problem client lizard pioneer submit female collect',
  "Truffle's phrase": 'candy maple cake sugar pudding cream honey rich smooth crumble sweet treat',
  'the all-zero phrase of BIP-39': `${'abandon '.repeat(11)}about`,
}

/** Keys that the documents of clients publish. */
const PUBLISHED: Readonly<Record<string, string>> = {
  '0xfe3b557e8fb62b89f4916b721be55ceb828dbd73': "an account of Besu's development network",
}

function wellKnownAddresses(): ReadonlyMap<string, string> {
  const known = new Map(Object.entries(PUBLISHED))
  for (const [name, phrase] of Object.entries(PHRASES)) {
    const signers = createSeedSigners(phrase)
    for (let index = 0; index < ACCOUNTS_PER_PHRASE; index++) {
      known.set(signers.at(index).address.toLowerCase(), `account ${index} of ${name}`)
    }
  }
  for (let number = 1; number <= SMALL_KEYS; number++) {
    const key: Hex = toHex(number, { size: 32 })
    known.set(privateKeyToAddress(key).toLowerCase(), `the private key ${number}`)
  }
  return known
}
