import { encodeAbiParameters } from 'viem'

import { selectorOf } from '../../src/chain/events.ts'
import type { Hex } from '../../src/domain/orders.ts'

/**
 * Code of a contract that answers each of these functions with fixed bytes, by their signatures.
 * `*` answers whatever else is called; without it, anything else reverts with nothing.
 */
export function answering(answers: Readonly<Record<string, Hex>>): Hex {
  const { '*': fallback, ...named } = answers
  const head = ['5f3560e01c'] // the selector: calldata's first word, shifted
  const bodies: string[] = []
  const entries = Object.entries(named)
  // Each test takes eleven bytes; what follows them is the fallback, then the bodies.
  const last = fallback === undefined ? '5f5ffd' : returning(fallback)
  let at = bytesIn(head.join('')) + entries.length * 11 + bytesIn(last)
  for (const [signature, data] of entries) {
    const body = `5b${returning(data)}`
    head.push(`8063${selectorOf(signature).slice(2)}1461${word(at)}57`)
    bodies.push(body)
    at += bytesIn(body)
  }
  return `0x${head.join('')}${last}${bodies.join('')}`
}

/** What a dollar token of that many decimals answers at the least. */
export function tokenAnswers(decimals: bigint, symbol: string): Record<string, Hex> {
  return {
    'decimals()': uint(decimals),
    'symbol()': encodeAbiParameters([{ type: 'string' }], [symbol]),
  }
}

export function uint(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}

/** Stores the words one by one, and returns them. */
function returning(data: Hex): string {
  const digits = data.slice(2)
  const stores = (digits.match(/.{1,64}/g) ?? []).map(
    (part, place) => `7f${part.padEnd(64, '0')}61${word(place * 32)}52`,
  )
  return `${stores.join('')}61${word(bytesIn(digits))}5ff3`
}

function word(value: number): string {
  return value.toString(16).padStart(4, '0')
}

function bytesIn(digits: string): number {
  return digits.length / 2
}
