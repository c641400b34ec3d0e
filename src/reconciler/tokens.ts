import { selectorOf } from '../chain/events.ts'
import type { Hex } from '../chain/hex.ts'
import type { RpcItem } from '../chain/rpc.ts'
import { isCurrencyName } from './records.ts'

/** What an ERC-20 says of itself. */
export type TokenFacts = {
  decimals: number
  /** Undefined where it has none that a person could type. */
  symbol: string | undefined
}

const DECIMALS = selectorOf('decimals()')
const SYMBOL = selectorOf('symbol()')
/** 10 to the power of 77 is the last that fits into a word. */
const MAX_DECIMALS = 77n

/** The two calls whose answers `readToken` reads. */
export function tokenCalls(token: Hex): [decimals: RpcItem, symbol: RpcItem] {
  const call = (data: Hex): RpcItem => ({
    method: 'eth_call',
    params: [{ to: token, data }, 'latest'],
  })
  return [call(DECIMALS), call(SYMBOL)]
}

/** Undefined where what answers is not an ERC-20 with decimals. */
export function readToken(told: { decimals: unknown; symbol: unknown }): TokenFacts | undefined {
  const { decimals, symbol } = told
  if (typeof decimals !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(decimals)) return undefined
  const number = BigInt(decimals)
  if (number > MAX_DECIMALS) return undefined
  return { decimals: Number(number), symbol: readSymbol(symbol) }
}

/** A string as Solidity returns it, or the bytes32 of tokens that are older than that. */
function readSymbol(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2}){32,}$/.test(value)) return undefined
  const bytes = Buffer.from(value.slice(2), 'hex')
  const text = bytes.length === 32 ? bytes.toString().replace(/\0+$/, '') : stringIn(bytes)
  return text !== undefined && isCurrencyName(text) ? text : undefined
}

/** Its place, its length, its bytes. */
function stringIn(bytes: Buffer): string | undefined {
  const isUsual = BigInt(`0x${bytes.toString('hex', 0, 32)}`) === 32n && bytes.length >= 64
  const length = isUsual ? BigInt(`0x${bytes.toString('hex', 32, 64)}`) : 0n
  if (length === 0n || length > BigInt(bytes.length - 64)) return undefined
  return bytes.toString('utf8', 64, 64 + Number(length))
}
