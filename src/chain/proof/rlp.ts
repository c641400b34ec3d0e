import { fromRlp, toRlp } from 'viem/utils'

import { BaseError, messageOf } from '../../base/errors.ts'
import type { Hex } from '../hex.ts'

/** What RLP nests: bytes, and lists of it. */
export type RlpItem = Hex | readonly RlpItem[]

export function encodeRlp(item: RlpItem): Hex {
  return toRlp(item as never)
}

/**
 * The one item that the bytes encode. Any other encoding of it is refused, since two files that
 * prove the same would then differ.
 */
export function decodeRlp(bytes: Hex): RlpItem {
  const item = parse(bytes)
  if (encodeRlp(item) !== bytes) throw new EncodingError('RLP that is not canonical')
  return item
}

export function listOf(item: RlpItem | undefined): readonly RlpItem[] {
  if (typeof item === 'object') return item
  throw new EncodingError('bytes where a list must stand')
}

export function bytesOf(item: RlpItem | undefined, length?: number): Hex {
  if (typeof item !== 'string') throw new EncodingError('a list where bytes must stand')
  if (length === undefined || item.length === 2 + 2 * length) return item
  throw new EncodingError(`${(item.length - 2) / 2} bytes where ${length} must stand`)
}

/** Numbers have no leading zeros in RLP, and 0 has no bytes at all. */
export function numberOf(item: RlpItem | undefined): bigint {
  const bytes = bytesOf(item)
  if (bytes === '0x') return 0n
  if (bytes.startsWith('0x00')) throw new EncodingError('a number with a leading zero')
  return BigInt(bytes)
}

export function numberBytes(value: bigint): Hex {
  if (value === 0n) return '0x'
  const digits = value.toString(16)
  return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
}

function parse(bytes: Hex): RlpItem {
  try {
    return fromRlp(bytes, 'hex')
  } catch (error) {
    throw new EncodingError(`what is not RLP: ${messageOf(error).split('\n')[0]}`)
  }
}

/** Something that came from outside does not have the form that the chain gives it. */
export class EncodingError extends BaseError {
  override readonly name = 'EncodingError'

  constructor(found: string) {
    super(`Found ${found}. Do not rely on where it came from.`, { code: 'encoding_invalid' })
  }
}
