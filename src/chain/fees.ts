import { BaseError } from '../base/errors.ts'
import type { Providers } from './providers.ts'
import { parseQuantity, toQuantity } from './quantity.ts'

export type FeePolicy = {
  /** How many of the latest blocks are looked at. */
  blocks: number
  /** The tip of a block is the one below which this share of its gas paid, in per cent. */
  tipPercentile: number
  /** The least tip; a network that is empty reports none. */
  minTip: bigint
  maxTip: bigint
}

export const DEFAULT_FEE_POLICY: FeePolicy = {
  blocks: 10,
  tipPercentile: 50,
  minTip: 100_000_000n,
  maxTip: 50_000_000_000n,
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
