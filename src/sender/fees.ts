import type { Fees } from '../domain/orders.ts'

/** What a new order offers: the quote, unless it is above what may be spent. */
export function offerOf(quote: Fees, maxFeePerGas: bigint): Fees {
  return {
    maxFeePerGas: least(quote.maxFeePerGas, maxFeePerGas),
    maxPriorityFeePerGas: least(quote.maxPriorityFeePerGas, maxFeePerGas),
  }
}

/**
 * The fees of a replacement, or undefined where the budget has no room for one. Nodes take a
 * replacement when both fees grow by 10 %, some by 12.5 %, so both grow by 15 % at least.
 */
export function bumped(options: {
  before: Fees
  quote: Fees
  maxFeePerGas: bigint
}): Fees | undefined {
  const { before, quote, maxFeePerGas } = options
  const least15 = {
    maxFeePerGas: raised(before.maxFeePerGas),
    maxPriorityFeePerGas: raised(before.maxPriorityFeePerGas),
  }
  if (least15.maxFeePerGas > maxFeePerGas) return undefined
  const wanted = least(most(least15.maxFeePerGas, quote.maxFeePerGas), maxFeePerGas)
  return {
    maxFeePerGas: wanted,
    maxPriorityFeePerGas: least(
      most(least15.maxPriorityFeePerGas, quote.maxPriorityFeePerGas),
      wanted,
    ),
  }
}

/** The quote covers twice the base fee, so half of it is about what the next block asks for. */
export function isPricedOut(fees: Fees, quote: Fees): boolean {
  return fees.maxFeePerGas * 2n < quote.maxFeePerGas
}

function raised(fee: bigint): bigint {
  return (fee * 115n + 99n) / 100n + (fee === 0n ? 1n : 0n)
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
