import type { Hex } from 'viem'
import { isAddress, keccak256, sha256, stringToBytes } from 'viem/utils'

export type { Hex } from 'viem'

/** The digest of a text's bytes that tools everywhere can make; the chain's own is Keccak-256. */
export function sha256OfText(text: string): Hex {
  return sha256(stringToBytes(text))
}

/** The hash of bytes, as contracts log it of an indexed parameter of dynamic length. */
export function hashOfBytes(bytes: Hex): Hex {
  return keccak256(bytes)
}

/** Lower-case, or undefined for what is no address or has a checksum that is wrong. */
export function parseAddress(text: unknown): Hex | undefined {
  if (typeof text !== 'string' || !isAddress(text)) return undefined
  return text.toLowerCase() as Hex
}

/** Lower-case, or undefined for what is not 32 bytes. */
export function parseHash(text: unknown): Hex | undefined {
  if (typeof text !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(text)) return undefined
  return text.toLowerCase() as Hex
}
