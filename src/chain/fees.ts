import { BaseError } from '../base/errors.ts'
import type { Providers } from './providers.ts'
import { parseQuantity, toQuantity } from './quantity.ts'

/** What a unit of gas may cost at most, and how much of it goes to the builder of the block. */
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }

export type FeePolicy = {
  /** How many of the latest blocks are looked at. */
  blocks: number
  /** The tip of a block is the one below which this share of its gas paid, in per cent. */
  tipPercentile: number
  /** The least tip; a network that is empty reports none. */
  minTip: bigint
  maxTip: bigint
  /** What one transaction may cost in all, gas times the maximal fee, in wei. */
  maxCost: bigint
}

export const DEFAULT_FEE_POLICY: FeePolicy = {
  blocks: 10,
  tipPercentile: 50,
  minTip: 100_000_000n,
  maxTip: 50_000_000_000n,
  maxCost: 50_000_000_000_000_000n,
}

/** The fees of the chain at this moment, before any cap of a transaction. */
export type FeeMarket = { baseFee: bigint; tip: bigint; provider: string }

/** Reads `eth_feeHistory`: the base fee of the next block, and a tip that lately was enough. */
export async function readFeeMarket(
  providers: Providers,
  options: { policy: FeePolicy; signal: AbortSignal },
): Promise<FeeMarket> {
  const { policy, signal } = options
  const { result, provider } = await providers.ask({
    method: 'eth_feeHistory',
    params: [toQuantity(policy.blocks), 'latest', [policy.tipPercentile]],
    signal,
  })
  const history = parseHistory(result, provider)
  const baseFee = history.baseFees.at(-1)
  if (baseFee === undefined) throw new FeesUnreadableError(provider)
  return { baseFee, tip: clamp(median(history.tips), policy), provider }
}

/**
 * Enough for the base fee to double, which takes six full blocks. Within the cap of a transaction
 * the margin shrinks; when not even the base fee and the least tip fit, the order has to wait.
 */
export function quoteFees(options: { market: FeeMarket; policy: FeePolicy; gas: bigint }): Fees {
  const { market, policy, gas } = options
  const wanted = 2n * market.baseFee + market.tip
  const affordable = gas === 0n ? wanted : policy.maxCost / gas
  const maxFeePerGas = min(wanted, affordable)
  if (maxFeePerGas < market.baseFee + policy.minTip) {
    throw new FeesAboveCapError({ needed: market.baseFee + policy.minTip, affordable })
  }
  return { maxFeePerGas, maxPriorityFeePerGas: min(market.tip, maxFeePerGas - market.baseFee) }
}

/**
 * Fees for another attempt at the same nonce: both at least 15 % above the last ones, since nodes
 * refuse less than 10 % on either, and at least what the market asks. Undefined when that costs
 * more than the budget; then only waiting is left, or a cancellation.
 */
export function bumpFees(options: {
  last: Fees
  market: FeeMarket
  policy: FeePolicy
  gas: bigint
}): Fees | undefined {
  const { last, market, policy, gas } = options
  const tip = max(raise(last.maxPriorityFeePerGas), market.tip)
  const least = raise(last.maxFeePerGas)
  const wanted = max(least, 2n * market.baseFee + tip)
  const affordable = gas === 0n ? wanted : policy.maxCost / gas
  if (affordable < least) return undefined
  const maxFeePerGas = min(wanted, affordable)
  const maxPriorityFeePerGas = min(tip, maxFeePerGas)
  // A tip may not be above the whole fee, and may not be raised by less than nodes ask for.
  if (maxPriorityFeePerGas < raise(last.maxPriorityFeePerGas)) return undefined
  return { maxFeePerGas, maxPriorityFeePerGas }
}

/** 15 % more, rounded up, and at least 1 wei more. */
function raise(fee: bigint): bigint {
  return max((fee * 115n + 99n) / 100n, fee + 1n)
}

type History = { baseFees: bigint[]; tips: bigint[] }

function parseHistory(result: unknown, provider: string): History {
  const { baseFeePerGas, reward } = (result ?? {}) as { baseFeePerGas?: unknown; reward?: unknown }
  const baseFees = quantities(baseFeePerGas)
  const rewards = Array.isArray(reward) ? reward.map((row: unknown) => quantities(row)) : []
  if (baseFees === undefined || rewards.includes(undefined)) throw new FeesUnreadableError(provider)
  return { baseFees, tips: rewards.flatMap((row) => row?.[0] ?? []) }
}

function quantities(list: unknown): bigint[] | undefined {
  if (!Array.isArray(list) || list.length > MAX_BLOCKS) return undefined
  const numbers = list.map((item) => parseQuantity(item))
  return numbers.every((number) => number !== undefined) ? numbers : undefined
}

const MAX_BLOCKS = 1025

/** One block with a huge tip moves an average, and not a median. */
function median(numbers: readonly bigint[]): bigint {
  const sorted = numbers.toSorted((a, b) => (a < b ? -1 : Number(a > b)))
  return sorted[Math.floor(sorted.length / 2)] ?? 0n
}

function clamp(tip: bigint, { minTip, maxTip }: FeePolicy): bigint {
  return min(max(tip, minTip), maxTip)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

class FeesUnreadableError extends BaseError {
  constructor(provider: string) {
    super(`${provider} told no fees that can be read. Use a provider that has eth_feeHistory.`, {
      code: 'fees_unreadable',
      retryable: true,
      details: { provider },
    })
  }
}

class FeesAboveCapError extends BaseError {
  constructor({ needed, affordable }: { needed: bigint; affordable: bigint }) {
    super(
      `A unit of gas costs ${needed} wei now, and at most ${affordable} are allowed. Wait, or raise the limit of a transaction.`,
      {
        code: 'fees_above_cap',
        retryable: true,
        details: { needed: needed.toString(), affordable: affordable.toString() },
      },
    )
  }
}
