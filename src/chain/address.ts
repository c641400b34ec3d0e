import type { Address, Hex } from 'viem'
import { getAddress, isAddress } from 'viem/utils'

/** With the checksum in its case, as people should see it. */
export function checksummed(address: string): Address {
  return getAddress(address)
}

/**
 * The address in lower case; undefined for what is none, or was mistyped, which the case of its
 * letters shows where it is mixed.
 */
export function readAddress(text: string): Hex | undefined {
  const plain = text.toLowerCase() as Hex
  if (!text.startsWith('0x') || !isAddress(plain)) return undefined
  const digits = text.slice(2)
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  return isMixed && !isAddress(text) ? undefined : plain
}
