import { keccak256, recoverAddress } from 'viem/utils'

import { array, data, quantity, record } from '../answers.ts'
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
import { typed, untyped } from './trie.ts'

/** One signed transaction, as far as a payment needs it. */
export type ChainTransaction = {
  hash: Hex
  type: number
  /** Undefined where the signature binds no chain, as before 2016 (EIP-155). */
  chainId: bigint | undefined
  nonce: bigint
  /** Who signed it. */
  from: Hex
  /** Null creates a contract. */
  to: Hex | null
  value: bigint
  input: Hex
}

/** The bytes that were signed and broadcast, from how JSON-RPC shows them. */
export function encodeTransaction(value: unknown): Hex {
  const transaction = record(value, 'transaction')
  const type = typeOf(transaction)
  const fields = FIELDS[type]
  if (fields === undefined) throw new UnknownTransactionTypeError(type)
  const items = fields.map((name) => encodeField(name, transaction))
  return typed(type, encodeRlp(items))
}

/** Reads a transaction from its bytes, and recovers who signed it. */
export async function decodeTransaction(raw: Hex): Promise<ChainTransaction> {
  const parts = partsOf(raw)
  const { type, field } = parts
  const from = type === DEPOSIT ? bytesOf(field('from'), 20) : await signerOf(parts)
  return { ...readParts(parts), hash: keccak256(raw), from }
}

export type SignedTransaction = Omit<ChainTransaction, 'hash' | 'from'>

/** All but its hash and who signed it, which cost the most. */
export function readSigned(raw: Hex): SignedTransaction {
  return readParts(partsOf(raw))
}

function partsOf(raw: Hex): Decoded {
  const { type, payload } = untyped(raw)
  const fields = FIELDS[type]
  if (fields === undefined) throw new UnknownTransactionTypeError(type)
  const items = listOf(decodeRlp(payload))
  if (items.length !== fields.length) throw new EncodingError('a transaction of another form')
  return { type, items, field: (name) => items[fields.indexOf(name)] }
}

function readParts({ type, field }: Decoded): SignedTransaction {
  const to = bytesOf(field('to'))
  return {
    type,
    chainId: chainIdOf(type, field),
    nonce: type === DEPOSIT ? 0n : numberOf(field('nonce')),
    to: to === '0x' ? null : bytesOf(to, 20),
    value: numberOf(field('value')),
    input: bytesOf(field('input')),
  }
}

const DEPOSIT = 0x7e

type Field =
  | 'nonce'
  | 'gasPrice'
  | 'maxPriorityFeePerGas'
  | 'maxFeePerGas'
  | 'gas'
  | 'to'
  | 'value'
  | 'input'
  | 'chainId'
  | 'accessList'
  | 'maxFeePerBlobGas'
  | 'blobVersionedHashes'
  | 'authorizationList'
  | 'v'
  | 'r'
  | 's'
  | 'sourceHash'
  | 'from'
  | 'mint'
  | 'isSystemTx'

const SIGNATURE = ['v', 'r', 's'] as const
const CALL = ['gas', 'to', 'value', 'input'] as const
const FEE_MARKET = ['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', ...CALL] as const

const FIELDS: Readonly<Record<number, readonly Field[]>> = {
  0: ['nonce', 'gasPrice', ...CALL, ...SIGNATURE],
  1: ['chainId', 'nonce', 'gasPrice', ...CALL, 'accessList', ...SIGNATURE],
  2: [...FEE_MARKET, 'accessList', ...SIGNATURE],
  3: [...FEE_MARKET, 'accessList', 'maxFeePerBlobGas', 'blobVersionedHashes', ...SIGNATURE],
  4: [...FEE_MARKET, 'accessList', 'authorizationList', ...SIGNATURE],
  [DEPOSIT]: ['sourceHash', 'from', 'to', 'mint', 'value', 'gas', 'isSystemTx', 'input'],
}

type Shown = Readonly<Record<string, unknown>>

function typeOf(transaction: Shown): number {
  return transaction['type'] === undefined ? 0 : Number(quantity(transaction['type'], 'type'))
}

function encodeField(name: Field, transaction: Shown): RlpItem {
  const value = transaction[name]
  if (name === 'v') return numberBytes(parityOf(transaction))
  const encode = ENCODERS[name]
  return encode === undefined ? numberBytes(quantity(value, name)) : encode(value)
}

/** Every field that is not a number, or may be absent. */
const ENCODERS: Partial<Record<Field, (value: unknown) => RlpItem>> = {
  to: (value) => (value === null || value === undefined ? '0x' : data(value, 'to', 20)),
  from: (value) => data(value, 'from', 20),
  sourceHash: (value) => data(value, 'sourceHash', 32),
  input: (value) => data(value, 'input'),
  accessList: (value) => array(value, 'accessList').map(encodeAccess),
  blobVersionedHashes: (value) => array(value, 'hashes').map((hash) => data(hash, 'hash', 32)),
  authorizationList: (value) => array(value, 'authorizationList').map(encodeAuthorization),
  isSystemTx: (value) => (value === true ? '0x01' : '0x'),
  mint: (value) =>
    value === undefined || value === null ? '0x' : numberBytes(quantity(value, 'mint')),
}

/** Legacy signatures hold the chain in `v`; of the others, some nodes show `yParity` only. */
function parityOf(transaction: Shown): bigint {
  const parity = typeOf(transaction) === 0 ? undefined : transaction['yParity']
  return quantity(parity ?? transaction['v'], 'v')
}

function encodeAccess(value: unknown): RlpItem {
  const access = record(value, 'access')
  const keys = array(access['storageKeys'], 'storageKeys')
  return [data(access['address'], 'address', 20), keys.map((key) => data(key, 'key', 32))]
}

function encodeAuthorization(value: unknown): RlpItem {
  const authorization = record(value, 'authorization')
  const number = (name: string): Hex => numberBytes(quantity(authorization[name], name))
  return [
    number('chainId'),
    data(authorization['address'], 'address', 20),
    number('nonce'),
    numberBytes(quantity(authorization['yParity'] ?? authorization['v'], 'yParity')),
    number('r'),
    number('s'),
  ]
}

type Decoded = {
  type: number
  items: readonly RlpItem[]
  field: (name: Field) => RlpItem | undefined
}

function chainIdOf(type: number, field: Decoded['field']): bigint | undefined {
  if (type === DEPOSIT) return undefined
  if (type !== 0) return numberOf(field('chainId'))
  const v = numberOf(field('v'))
  return v < 35n ? undefined : (v - 35n) / 2n
}

async function signerOf({ type, items, field }: Decoded): Promise<Hex> {
  const v = numberOf(field('v'))
  const chainId = chainIdOf(type, field)
  const tail: RlpItem[] = chainId === undefined ? [] : [numberBytes(chainId), '0x', '0x']
  const signed = [...items.slice(0, -SIGNATURE.length), ...(type === 0 ? tail : [])]
  const yParity = type === 0 ? Number((v + 1n) % 2n) : Number(v)
  const signature = { r: word(field('r')), s: word(field('s')), yParity }
  try {
    const hash = keccak256(typed(type, encodeRlp(signed)))
    return (await recoverAddress({ hash, signature })).toLowerCase() as Hex
  } catch {
    throw new EncodingError('a signature that nobody made')
  }
}

function word(item: RlpItem | undefined): Hex {
  return `0x${numberOf(item).toString(16).padStart(64, '0')}`
}

/** A type that other chains have and this program does not know how to write. */
export class UnknownTransactionTypeError extends EncodingError {
  constructor(type: number) {
    super(`a transaction of the unknown type ${type}`)
  }
}
