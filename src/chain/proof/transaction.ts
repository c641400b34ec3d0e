import type { Address, Hash, Hex, TransactionSerializableEIP1559 } from 'viem'
import {
  getAddress,
  isAddressEqual,
  keccak256,
  parseTransaction,
  serializeTransaction,
} from 'viem/utils'

import { createCache } from '../../base/cache.ts'
import { BaseError } from '../../base/errors.ts'
import { recoverSigner, type SignatureNumbers } from '../signers/secp256k1.ts'

// This file encodes what we sign; block-transaction.ts reads every type that a block may hold. They
// are separate on purpose: viem's serializer would make the checker in a browser a quarter larger,
// and an independent library is the better check of what we sign.

/** Reads a signature of 65 bytes, and refuses one that is not the address's for the payload. */
export function readSignature(
  signature: Hex,
  { payload, address }: { payload: Hex; address: Address },
): SignatureNumbers {
  const numbers = parseSignatureStrictly(signature)
  const from = recoverSigner(keccak256(payload), numbers)
  if (from !== undefined && isAddressEqual(from, address)) return numbers
  throw new SignatureWrongError('it is another account’s', { address, from })
}

/** Everything that an EIP-1559 transaction of ours says; nothing is left to defaults. */
export type TransactionRequest = {
  chainId: number
  nonce: number
  to: Address
  value: bigint
  /** `0x` where nothing is called. */
  data: Hex
  gas: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

export type SignedTransaction = { raw: Hex; hash: Hash }

/** What a raw transaction proves by itself: `hash` is its keccak256, `from` its signature's. */
export type DecodedTransaction = TransactionRequest & SignedTransaction & { from: Address }

/** What is signed: its keccak256 is what the signature is of. */
export function payloadOf(request: TransactionRequest): Hex {
  return serializeTransaction(serializable(request))
}

/**
 * Joins request and signature, and compares the result with the request. The result pays what was
 * requested from the requested address, even if another machine signed it; otherwise this throws.
 */
export function assemble(signed: {
  request: TransactionRequest
  signature: Hex
  address: Address
}): SignedTransaction {
  const { request, address } = signed
  const raw = serializeSigned(request, signed.signature)
  const decoded = decodeTransaction(raw)
  if (!isAddressEqual(decoded.from, address)) {
    throw new SignatureWrongError('it is another account’s', { address, from: decoded.from })
  }
  const field = firstDifference(decoded, request)
  if (field !== undefined) throw new SignatureWrongError(`${field} differs from the request`, {})
  return { raw, hash: decoded.hash }
}

/**
 * Reads a raw EIP-1559 transaction without asking anybody, all but who signed it. Only the one form
 * that nodes accept is read, so that its keccak256 is the hash on the chain.
 */
export function readTransaction(raw: Hex): TransactionRequest & SignedTransaction {
  const { signature: _, ...read } = readParts(raw)
  return read
}

/** The same with who signed it, whose signature it carries. */
export function decodeTransaction(raw: Hex): DecodedTransaction {
  const known = DECODED.get(raw)
  if (known !== undefined) return known
  const { signature, ...read } = readParts(raw)
  const from = recoverSigner(keccak256(payloadOf(read)), signature)
  if (from === undefined) throw new TransactionUnreadableError(raw)
  const decoded = { ...read, from }
  DECODED.set(raw, decoded)
  return decoded
}

function readParts(
  raw: Hex,
): TransactionRequest & SignedTransaction & { signature: SignatureNumbers } {
  const { signature, ...parsed } = parseRaw(raw)
  return {
    chainId: parsed.chainId,
    nonce: parsed.nonce ?? 0,
    to: getAddress(parsed.to),
    value: parsed.value ?? 0n,
    data: parsed.data ?? '0x',
    gas: parsed.gas ?? 0n,
    maxFeePerGas: parsed.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: parsed.maxPriorityFeePerGas ?? 0n,
    raw,
    hash: keccak256(raw),
    signature,
  }
}

/** What a list has just signed is read again where it is stored. It never changes. */
const DECODED = createCache<DecodedTransaction>(128)

/** The first field in which the two say something else, undefined when they agree. */
export function firstDifference(
  a: TransactionRequest,
  b: TransactionRequest,
): keyof TransactionRequest | undefined {
  return FIELDS.find((field) => String(a[field]).toLowerCase() !== String(b[field]).toLowerCase())
}

const FIELDS = [
  'chainId',
  'nonce',
  'to',
  'value',
  'data',
  'gas',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
] as const satisfies readonly (keyof TransactionRequest)[]

function serializable(request: TransactionRequest): TransactionSerializableEIP1559 {
  return { type: 'eip1559', ...request }
}

function serializeSigned(request: TransactionRequest, signature: Hex): Hex {
  const { r, s, yParity } = parseSignatureStrictly(signature)
  return serializeTransaction(serializable(request), { r, s, yParity })
}

function parseSignatureStrictly(signature: Hex): SignatureNumbers {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) {
    throw new SignatureWrongError('it is not 65 bytes', {})
  }
  const r: Hex = `0x${signature.slice(2, 66).toLowerCase()}`
  const s: Hex = `0x${signature.slice(66, 130).toLowerCase()}`
  const last = Number(`0x${signature.slice(130)}`)
  const yParity = last >= 27 ? last - 27 : last
  const isInRange = BigInt(r) > 0n && BigInt(r) < ORDER && BigInt(s) > 0n && BigInt(s) <= HALF_ORDER
  if (!isInRange || yParity > 1) throw new SignatureWrongError('its numbers are out of range', {})
  return { r, s, yParity }
}

/** Nodes refuse the larger of the two values that s may have (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const ORDER = 2n * HALF_ORDER + 1n

type Parsed = TransactionSerializableEIP1559 & { to: Address; signature: SignatureNumbers }

function parseRaw(raw: Hex): Parsed {
  try {
    const { r, s, yParity, v: _, ...fields } = parseTransaction(raw as `0x02${string}`)
    const isPlain = (fields.accessList ?? []).length === 0
    if (fields.type === 'eip1559' && r && s && yParity !== undefined && isPlain && fields.to) {
      const again = serializeTransaction(fields, { r, s, yParity })
      const signature = { r, s, yParity }
      if (again === raw.toLowerCase()) return { ...fields, to: fields.to, signature }
    }
  } catch {
    // Falls through: an unreadable transaction is refused like one that is not ours.
  }
  throw new TransactionUnreadableError(raw)
}

class SignatureWrongError extends BaseError {
  constructor(reason: string, details: Readonly<Record<string, unknown>>) {
    super(
      `The signature of a transaction is wrong: ${reason}. Nothing was sent; check the signer.`,
      { code: 'signature_wrong', details },
    )
  }
}

class TransactionUnreadableError extends BaseError {
  constructor(raw: Hex) {
    super('The bytes are not a signed EIP-1559 transaction. Compare them with what was stored.', {
      code: 'transaction_unreadable',
      details: { bytes: Math.max(0, (raw.length - 2) / 2) },
    })
  }
}
