import { recover, signRecoverable, type RecoveryIdType } from 'tiny-secp256k1'
import type { Address, Hex } from 'viem'
import { getAddress, keccak256, slice } from 'viem/utils'

/** The numbers of a signature: the point R has x = r, and yParity selects one of its two y. */
export type SignatureNumbers = { r: Hex; s: Hex; yParity: number }

/** Signs as RFC 6979 says, with the smaller s: the same key and digest give the same 65 bytes. */
export function signDigest(digest: Hex, privateKey: Uint8Array): Hex {
  const { signature, recoveryId } = signRecoverable(bytesOf(digest), privateKey)
  return `0x${Buffer.from(signature).toString('hex')}${(27 + recoveryId).toString(16)}`
}

/** Whose signature it is, found as everybody finds it. Undefined where it can be nobody's. */
export function recoverSigner(
  digest: Hex,
  { r, s, yParity }: SignatureNumbers,
): Address | undefined {
  try {
    const signature = Buffer.concat([bytesOf(r), bytesOf(s)])
    const point = recover(bytesOf(digest), signature, yParity as RecoveryIdType, false)
    return point === null ? undefined : addressOfPoint(point)
  } catch {
    // It throws where a number is not valid on the curve.
    return undefined
  }
}

/** The point in its long form: 04, x and y. */
function addressOfPoint(point: Uint8Array): Address {
  return getAddress(slice(keccak256(point.subarray(1)), 12))
}

function bytesOf(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2).padStart(64, '0'), 'hex')
}
