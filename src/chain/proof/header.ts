import { keccak256 } from 'viem/utils'

import { data, quantity, record } from '../answers.ts'
import type { Hex } from '../hex.ts'
import {
  bytesOf,
  decodeRlp,
  EncodingError,
  encodeRlp,
  listOf,
  numberBytes,
  numberOf,
  type RlpItem,
} from './rlp.ts'

/** What a block's header commits to, with the bytes that hash to the block's hash. */
export type Header = {
  hash: Hex
  rlp: Hex
  number: bigint
  /** In seconds, as the chain counts time. */
  timestamp: bigint
  parentHash: Hex
  transactionsRoot: Hex
  receiptsRoot: Hex
}

/**
 * Reads a block as JSON-RPC shows it, and hashes its fields. Whether the block says the same hash
 * of itself is for the caller to compare.
 */
export function headerOfBlock(value: unknown): Header {
  const block = record(value, 'block')
  const items: Hex[] = []
  for (const [at, [name, size]] of FIELDS.entries()) {
    const field = block[name]
    // Each fork added fields at the end, so the first absent one ends the header.
    if (at >= MIN_FIELDS && (field === undefined || field === null)) break
    items.push(
      size === 'number'
        ? numberBytes(quantity(field, name))
        : data(field, name, size === 'bytes' ? undefined : size),
    )
  }
  return headerOf(encodeRlp(items), items)
}

/** Reads a header from its bytes. Fields that later forks may add are hashed and left alone. */
export function decodeHeader(rlp: Hex): Header {
  const items = listOf(decodeRlp(rlp))
  if (items.length < MIN_FIELDS || items.length > MAX_FIELDS) {
    throw new EncodingError(`a header of ${items.length} fields`)
  }
  for (const [at, [, size]] of FIELDS.entries()) {
    if (at >= items.length) break
    if (size === 'number') numberOf(items[at])
    else bytesOf(items[at], size === 'bytes' ? undefined : size)
  }
  return headerOf(rlp, items)
}

/** Names in a block that are known to be no part of the header, or that it hashes. */
export function hasUnknownFields(value: unknown): boolean {
  const known = new Set<string>([...FIELDS.map(([name]) => name), ...BESIDE_HEADER])
  return Object.keys(record(value, 'block')).some((name) => !known.has(name))
}

const FIELDS = [
  ['parentHash', 32],
  ['sha3Uncles', 32],
  ['miner', 20],
  ['stateRoot', 32],
  ['transactionsRoot', 32],
  ['receiptsRoot', 32],
  ['logsBloom', 256],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData', 'bytes'],
  ['mixHash', 32],
  ['nonce', 8],
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 32],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 32],
  ['requestsHash', 32],
  ['blockAccessListHash', 32],
  ['slotNumber', 'number'],
] as const

const MIN_FIELDS = 15
const MAX_FIELDS = 40
const AT = { transactionsRoot: 4, receiptsRoot: 5, number: 8, timestamp: 11 }

const BESIDE_HEADER = [
  'hash',
  'size',
  'totalDifficulty',
  'transactions',
  'uncles',
  'withdrawals',
  'l1BlockNumber',
  'sendCount',
  'sendRoot',
]

function headerOf(rlp: Hex, items: readonly RlpItem[]): Header {
  return {
    hash: keccak256(rlp),
    rlp,
    number: numberOf(items[AT.number]),
    timestamp: numberOf(items[AT.timestamp]),
    parentHash: bytesOf(items[0], 32),
    transactionsRoot: bytesOf(items[AT.transactionsRoot], 32),
    receiptsRoot: bytesOf(items[AT.receiptsRoot], 32),
  }
}
