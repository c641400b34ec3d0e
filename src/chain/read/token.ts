import { hexToBytes, isHex } from 'viem/utils'

import type { Hex } from '../../domain/orders.ts'
import { readWord } from '../answers.ts'
import { selectorOf } from './events.ts'

/** The calls in which an ERC-20 describes itself. */
export const TOKEN_VIEWS = {
  decimals: selectorOf('decimals()'),
  symbol: selectorOf('symbol()'),
} as const

/** Asks a token what the holder has of it. */
export function holdingCall(holder: Hex): Hex {
  return `${selectorOf('balanceOf(address)')}${holder.slice(2).padStart(64, '0')}`
}

/*
 * Anyone can deploy a token, so nothing here is certain to be as the standard has it. Undefined is
 * what a contract does not answer; who has to agree on an answer is for the caller to say.
 */

/** How many decimals amounts have; undefined also for more than any amount can have. */
export function readDecimals(answer: unknown): number | undefined {
  const decimals = readWord(answer)
  return decimals === undefined || decimals > MAX_DECIMALS ? undefined : Number(decimals)
}

/** 10 to the power of 77 is the last that fits into a word. */
const MAX_DECIMALS = 77n

/** A string, or the 32 bytes of tokens that are older than that. Null for what nobody can read. */
export function readSymbol(answer: unknown): string | null | undefined {
  if (!isHex(answer) || answer.length % 2 !== 0) return undefined
  const bytes = hexToBytes(answer)
  const text = bytes.length === 32 ? withoutZeros(bytes) : stringIn(bytes)
  if (text === undefined) return undefined
  const symbol = new TextDecoder().decode(text).trim()
  return READABLE.test(symbol) ? symbol : null
}

/** People see it, so it contains nothing that could hide or reverse the text next to it. */
const READABLE = /^[\p{L}\p{N}\p{P}\p{S} ]{1,32}$/u

function withoutZeros(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1)
}

/** Where it stands; there, its length and its bytes. */
function stringIn(bytes: Uint8Array): Uint8Array | undefined {
  const place = numberAt(bytes, 0)
  const length = place === undefined ? undefined : numberAt(bytes, place)
  if (place === undefined || length === undefined) return undefined
  const start = place + WORD_BYTES
  return length <= bytes.length - start ? bytes.subarray(start, start + length) : undefined
}

/** Undefined where no word stands there, or one that is larger than any answer is long. */
function numberAt(bytes: Uint8Array, place: number): number | undefined {
  const word = bytes.subarray(place, place + WORD_BYTES)
  if (word.length < WORD_BYTES || word.subarray(0, -4).some((byte) => byte !== 0)) return undefined
  return new DataView(word.buffer, word.byteOffset).getUint32(WORD_BYTES - 4)
}

const WORD_BYTES = 32
