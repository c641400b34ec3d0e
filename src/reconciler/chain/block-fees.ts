import { AnswerError, readFee, toQuantity } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import type { RpcItem, RpcOutcome } from '../../chain/rpc/rpc.ts'

export type Ask = (
  items: readonly RpcItem[],
  signal: AbortSignal,
  group?: number,
) => Promise<RpcOutcome[]>

/** A transaction, and the block that a log of it was seen in. */
export type MinedHash = { hash: Hex; block: { number: bigint; hash: Hex } }

export type FeeReader = (mined: readonly MinedHash[], signal: AbortSignal) => Promise<Fees>

type Fees = Map<Hex, bigint>

/** From so many of ours in a block on, the whole block is the cheaper question. */
const DENSE = 4
/** So many receipts of ours are held at a time, and those of others that come with them. */
const RECEIPTS_AT_ONCE = 4_000
const BLOCKS_AT_ONCE = 32
/** Of which so many are in one request, whose answer has some megabytes at most. */
const BLOCKS_A_REQUEST = 8

/**
 * The fees of transactions, from the receipts of their blocks. Their logs, most of a receipt, are
 * skipped. A receipt from another block than the log's is ignored.
 */
export function createFeeReader(ask: Ask): FeeReader {
  let hasBlocks = true
  return async (mined, signal) => {
    const fees: Fees = new Map()
    const wanted = new Map(mined.map(({ hash, block }) => [hash, block.hash]))
    const byBlock = Map.groupBy(mined, ({ block }) => block.number)
    const dense = [...byBlock].filter(([, ours]) => ours.length >= DENSE)
    for (const numbers of partsOf(dense)) {
      if (!hasBlocks) break
      for (const outcome of await ask(numbers.map(blockCall), signal, BLOCKS_A_REQUEST)) {
        if (!outcome.ok && outcome.error.code === 'rpc_method_missing') hasBlocks = false
        if (outcome.ok && Array.isArray(outcome.result)) add(fees, { wanted, list: outcome.result })
      }
    }
    const open = mined.filter(({ hash }) => !fees.has(hash))
    const calls = open.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    const outcomes = await ask(calls, signal)
    const list = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.result] : []))
    add(fees, { wanted, list })
    return fees
  }
}

/** Blocks by their numbers, so many at a time that their receipts are held together. */
function partsOf(blocks: readonly [bigint, readonly MinedHash[]][]): bigint[][] {
  const parts: bigint[][] = []
  let held = RECEIPTS_AT_ONCE
  for (const [number, { length }] of blocks) {
    const isFull = held + length > RECEIPTS_AT_ONCE || parts.at(-1)?.length === BLOCKS_AT_ONCE
    if (isFull) parts.push([])
    held = isFull ? length : held + length
    parts.at(-1)?.push(number)
  }
  return parts
}

function blockCall(number: bigint) {
  return { method: 'eth_getBlockReceipts', params: [toQuantity(number)] }
}

function add(
  fees: Fees,
  { wanted, list }: { wanted: ReadonlyMap<string, Hex>; list: readonly unknown[] },
): void {
  for (const value of list) {
    const { transactionHash, blockHash } = (value ?? {}) as Record<string, unknown>
    if (typeof transactionHash !== 'string') continue
    const hash = transactionHash as Hex
    const block = wanted.get(hash)
    if (block === undefined || block !== blockHash) continue
    try {
      fees.set(hash, readFee(value))
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error
    }
  }
}
