import { AnswerError, array, quantity, readFrom, record, toQuantity } from '../answers.ts'
import type { Providers } from '../rpc/providers.ts'

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

/** Gas of a rollup costs a thousandth, and whatever tip is offered is paid. */
export const ROLLUP_FEE_POLICY: FeePolicy = { ...DEFAULT_FEE_POLICY, minTip: 1_000_000n }

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
  const history = readFrom({ value: result, provider }, readHistory)
  const baseFee = history.baseFees.at(-1) ?? 0n
  return { baseFee, tip: clamp(median(history.tips), policy), provider }
}

type History = { baseFees: bigint[]; tips: bigint[] }

function readHistory(value: unknown): History {
  const history = record(value, 'fee history')
  const baseFees = quantities(history['baseFeePerGas'], 'baseFeePerGas')
  if (baseFees.length === 0) throw new AnswerError('baseFeePerGas')
  const rewards = history['reward'] === undefined ? [] : array(history['reward'], 'reward')
  return { baseFees, tips: rewards.flatMap((row) => quantities(row, 'reward')[0] ?? []) }
}

function quantities(value: unknown, field: string): bigint[] {
  const list = array(value, field)
  if (list.length > MAX_BLOCKS) throw new AnswerError(field)
  return list.map((item) => quantity(item, field))
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
