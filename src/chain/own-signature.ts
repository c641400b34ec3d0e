import { createECDH } from 'node:crypto'

import type { Address, Hex } from 'viem'

/** The numbers of a signature: the point R has x = r, and yParity tells which of its two y. */
export type SignatureNumbers = { r: Hex; s: Hex; yParity: number }

/** Tells whether signatures are of one account whose key is in this process. */
export type OwnSignatures = {
  address: Address
  isOf: (digest: Hex, signature: SignatureNumbers) => boolean
}

/**
 * Checks a signature as everybody does, R = (z/s)·G + (r/s)·Q, with Q = d·G put in: one
 * multiplication of G by z/s + r·d/s, for which OpenSSL takes a sixth of the time that finding Q
 * takes without the key. What signed is viem, so the two check each other. Undefined where OpenSSL
 * finds another account than the address, or none; then nothing is checked this way.
 */
export function createOwnSignatures(
  privateKey: Hex,
  { address, publicKey }: { address: Address; publicKey: Hex },
): OwnSignatures | undefined {
  if (`0x${multiplied(BigInt(privateKey))?.toString('hex')}` !== publicKey.toLowerCase()) {
    return undefined
  }
  const key = BigInt(privateKey)
  return {
    address,
    isOf(digest, { r, s, yParity }) {
      const inverse = inverted(BigInt(s))
      if (inverse === undefined) return false
      const point = multiplied(((BigInt(digest) + BigInt(r) * key) * inverse) % ORDER)
      if (point === undefined) return false
      const x = BigInt(`0x${point.toString('hex', 1, 33)}`)
      const isOdd = (point.at(-1) ?? 0) % 2
      // An x above the order would have two readings; as good as no signature has one.
      return x === BigInt(r) && isOdd === yParity
    },
  }
}

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The point in its long form: 04, x and y. Undefined for zero, which has none. */
function multiplied(number: bigint): Buffer | undefined {
  if (number <= 0n || number >= ORDER) return undefined
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(number.toString(16).padStart(64, '0'), 'hex')
  return curve.getPublicKey()
}

/** By Euclid; the number is public, so the time that it takes tells nobody anything. */
function inverted(number: bigint): bigint | undefined {
  if (number <= 0n || number >= ORDER) return undefined
  let [high, low, before, now] = [ORDER, number, 0n, 1n]
  // The remainder halves at least every second round, and the order has 256 bits.
  for (let round = 0; round < 512 && low > 0n; round++) {
    const times = high / low
    ;[high, low, before, now] = [low, high - times * low, now, before - times * now]
  }
  return ((before % ORDER) + ORDER) % ORDER
}
