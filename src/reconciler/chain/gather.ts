import { BaseError } from '../../base/errors.ts'
import type { Block, MinedReceipt, ShownTransaction } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import type { NodeAnswer } from './agree.ts'
import type { Answers, Node } from './node.ts'

/** What a transaction is asked for: its hash, and whether its receipt tells enough. */
export type Wanted = { hash: Hex; isToldBy: (receipt: MinedReceipt) => boolean }

/** From so many transactions of a block on, the whole block is one question instead of many. */
const FULL_BLOCK = 3

/** All that one node says of the transactions, in as few calls as the blocks allow. */
export async function gather(
  node: Node,
  wanted: readonly Wanted[],
  signal: AbortSignal,
): Promise<Map<Hex, NodeAnswer>> {
  const hashes = wanted.map(({ hash }) => hash)
  const receipts = await node.receipts(hashes, signal)
  const untold = wanted.filter(({ hash, isToldBy }) => {
    const receipt = known(receipts.get(hash))
    return receipt !== undefined && !isToldBy(receipt)
  })
  const blocks = await readBlocks(node, { receipts, untold, signal })
  const alone = [
    ...untold.filter(({ hash }) => blockOf(hash, { receipts, blocks })?.transactions === undefined),
    ...wanted.filter(({ hash }) => receipts.get(hash) === null),
  ]
  const transactions =
    alone.length === 0
      ? new Map()
      : await node.transactions(
          alone.map(({ hash }) => hash),
          signal,
        )
  return new Map(hashes.map((hash) => [hash, answerOf(hash, { receipts, blocks, transactions })]))
}

type Read = {
  receipts: Answers<Hex, MinedReceipt>
  blocks: Answers<bigint, Block>
  transactions: Answers<Hex, ShownTransaction>
}

async function readBlocks(
  node: Node,
  asked: {
    receipts: Read['receipts']
    untold: readonly Wanted[]
    signal: AbortSignal
  },
): Promise<Read['blocks']> {
  const { receipts, untold, signal } = asked
  const untoldIn = new Map<bigint, number>()
  for (const receipt of receipts.values()) {
    const number = known(receipt)?.block.number
    if (number !== undefined) untoldIn.set(number, 0)
  }
  for (const { hash } of untold) {
    const number = known(receipts.get(hash))?.block.number
    if (number !== undefined) untoldIn.set(number, (untoldIn.get(number) ?? 0) + 1)
  }
  const wanted = [...untoldIn].map(([number, count]) => ({ number, isFull: count >= FULL_BLOCK }))
  return wanted.length === 0 ? new Map() : node.blocks(wanted, signal)
}

function blockOf(hash: Hex, { receipts, blocks }: Pick<Read, 'receipts' | 'blocks'>) {
  const number = known(receipts.get(hash))?.block.number
  return number === undefined ? undefined : known(blocks.get(number))
}

/** An incomplete answer is a failure: a receipt without its block, or the transaction it needs. */
function answerOf(hash: Hex, read: Read): NodeAnswer {
  const receipt = read.receipts.get(hash)
  const told = read.transactions.get(hash)
  if (receipt === undefined || receipt instanceof BaseError) return failed(receipt)
  if (receipt === null) {
    if (told === undefined || told instanceof BaseError) return failed(told)
    return told === null ? { kind: 'absent' } : { kind: 'waiting', transaction: told }
  }
  const block = read.blocks.get(receipt.block.number)
  if (!block || block instanceof BaseError) return failed(block ?? undefined)
  const transaction = block.transactions?.get(hash) ?? known(told)
  if (told instanceof BaseError) return failed(told)
  return {
    kind: 'mined',
    receipt,
    timeMs: block.timeMs,
    isCanonical: block.hash === receipt.block.hash,
    transaction,
  }
}

function failed(error: BaseError | undefined): NodeAnswer {
  return { kind: 'failed', reason: error?.message ?? 'The node does not have the block.' }
}

function known<T>(answer: T | null | BaseError | undefined): T | undefined {
  return answer === null || answer === undefined || answer instanceof BaseError ? undefined : answer
}
