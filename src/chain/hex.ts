import type { Hex } from '../domain/orders.ts'
import { getAddress, isAddress, keccak256, sha256, stringToBytes } from 'viem/utils'

export type { Hex } from '../domain/orders.ts'

/** The digest of a text's bytes that tools everywhere can make; the chain's own is Keccak-256. */
export function sha256OfText(text: string): Hex {
  return sha256(stringToBytes(text))
}

/** The hash of bytes, as contracts log it of an indexed parameter of dynamic length. */
export function hashOfBytes(bytes: Hex): Hex {
  return keccak256(bytes)
}

/**
 * The address in lower case. Undefined where the text is not an address, or where its letters have
 * mixed case and the checksum in that case is wrong.
 */
export function parseAddress(text: unknown): Hex | undefined {
  if (typeof text !== 'string' || !text.startsWith('0x')) return undefined
  const digits = text.slice(2)
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  const plain = text.toLowerCase() as Hex
  return isAddress(isMixed ? text : plain) ? plain : undefined
}

/** With the checksum in its case, as people should see it. */
export function checksummed(address: string): Hex {
  return getAddress(address)
}

/** Lower-case, or undefined for what is not 32 bytes. */
export function parseHash(text: unknown): Hex | undefined {
  if (typeof text !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(text)) return undefined
  return text.toLowerCase() as Hex
}
