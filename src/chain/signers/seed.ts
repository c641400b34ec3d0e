import { createHash, pbkdf2Sync } from 'node:crypto'

import { english, HDKey } from 'viem/accounts'
import { toHex } from 'viem/utils'

import { BaseError } from '../../base/errors.ts'
import { createKeySigner, SignerMissingError, type Signer, type Signers } from './signer.ts'

/** Signers at m/44'/60'/0'/0/index of a BIP-39 phrase without a passphrase. */
export function createSeedSigners(phrase: string): Signers {
  const words = phrase.normalize('NFKD').trim().split(/\s+/)
  requireValid(words)
  const seed = pbkdf2Sync(words.join(' '), 'mnemonic', 2048, 64, 'sha512')
  const parent = HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0")
  const made = new Map<number, Signer>()
  return {
    kind: 'seed',
    areHere: true,
    count: MAX_INDEX,
    at(index) {
      const known = made.get(index)
      if (known !== undefined) return known
      if (!Number.isInteger(index) || index < 0 || index >= MAX_INDEX) {
        throw new SignerMissingError(index, MAX_INDEX)
      }
      const signer = deriveSigner(parent, index)
      if (made.size < MAX_KEPT) made.set(index, signer)
      return signer
    },
  }
}

const MAX_INDEX = 2 ** 31
/** Deriving takes a millisecond, so those that are used all the time are kept. */
const MAX_KEPT = 10_000

function deriveSigner(parent: HDKey, index: number): Signer {
  const { privateKey } = parent.deriveChild(index)
  // BIP-32 has it that one index in 2^127 has no key.
  if (privateKey === null) throw new SignerMissingError(index, MAX_INDEX)
  return createKeySigner(toHex(privateKey))
}

/** The last bits of a phrase are a checksum, which shows a word that was copied wrongly. */
function requireValid(words: readonly string[]): void {
  if (![12, 15, 18, 21, 24].includes(words.length)) throw new SeedWrongError('words are missing')
  const indexes = words.map((word) => english.indexOf(word))
  if (indexes.includes(-1)) throw new SeedWrongError('a word is not in the list of BIP-39')
  const bits = indexes.map((index) => index.toString(2).padStart(11, '0')).join('')
  const checksumLength = words.length / 3
  const entropy = bits.slice(0, -checksumLength).match(/.{8}/g) ?? []
  const bytes = Uint8Array.from(entropy, (byte) => Number.parseInt(byte, 2))
  const [first = 0] = createHash('sha256').update(bytes).digest()
  const checksum = first.toString(2).padStart(8, '0').slice(0, checksumLength)
  if (!bits.endsWith(checksum)) throw new SeedWrongError('the checksum is wrong')
}

/** Says what is wrong, and never which word. */
class SeedWrongError extends BaseError {
  constructor(reason: string) {
    super(`The seed phrase is not valid: ${reason}. Copy all its English words again.`, {
      code: 'signer_seed_wrong',
    })
  }
}
