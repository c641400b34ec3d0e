import type { BlockRef } from './facts.ts'
import type { Reader } from './reader.ts'

export type Advance =
  /** Nothing is new. */
  | { kind: 'unchanged' }
  /** The provider knows less than what was known already: it lags. */
  | { kind: 'behind' }
  /** `removed` are no longer part of the chain, newest first; `added` follow, oldest first. */
  | { kind: 'advanced'; added: BlockRef[]; removed: BlockRef[] }
  /** The blocks that came do not fit together, as happens during a reorg. Ask again. */
  | { kind: 'unclear' }
  /** None of the known blocks is part of the chain any more. */
  | { kind: 'deeper' }

export type AdvanceOptions = {
  /** The latest blocks that were known, oldest first; each the parent of the next. */
  known: readonly BlockRef[]
  /** How many blocks one call may add; the rest comes with the next one. */
  maxBlocks: number
  signal: AbortSignal
}

/**
 * Finds the way from the blocks that were known to the head. Every step is proved by a parent hash,
 * so that answers of several providers never make a chain that does not exist.
 */
export async function advance(reader: Reader, options: AdvanceOptions): Promise<Advance> {
  const { known, maxBlocks, signal } = options
  const { value: head } = await reader.head(signal)
  const tip = known.at(-1)
  if (tip === undefined) return { kind: 'advanced', added: [head], removed: [] }
  if (head.hash === tip.hash) return { kind: 'unchanged' }
  if (known.some(({ hash }) => hash === head.hash)) return { kind: 'behind' }

  const common = await findCommon(reader, { known, head, signal })
  if (common === 'unclear' || common === 'deeper') return { kind: common }
  const limit = common.number + BigInt(maxBlocks)
  const numbers = range(common.number + 1n, head.number < limit ? head.number : limit)
  const added = (await reader.blocks(numbers, signal)).map(({ value }) => value)
  if (added.length < numbers.length || !isChain([common, ...added])) return { kind: 'unclear' }
  const removed = known.filter(({ number }) => number > common.number).toReversed()
  return { kind: 'advanced', added, removed }
}

/** The newest known block that is still part of the chain. */
async function findCommon(
  reader: Reader,
  options: { known: readonly BlockRef[]; head: BlockRef; signal: AbortSignal },
): Promise<BlockRef | 'unclear' | 'deeper'> {
  const { head, signal } = options
  const below = options.known.filter(({ number }) => number <= head.number)
  let upper = below.length
  // Most often the tip itself is still there; a reorg is found by steps that double.
  for (let step = 1; upper > 0; step *= 2) {
    const part = below.slice(Math.max(0, upper - step), upper)
    const now = await reader.blocks(
      part.map(({ number }) => number),
      signal,
    )
    if (now.length < part.length) return 'unclear'
    const index = part.findLastIndex(({ hash }, at) => now[at]?.value.hash === hash)
    const common = part[index]
    if (common !== undefined) return common
    upper -= part.length
  }
  return 'deeper'
}

function isChain(blocks: readonly BlockRef[]): boolean {
  return blocks.every(({ number, parentHash }, index) => {
    const parent = blocks[index - 1]
    return parent === undefined || (parent.hash === parentHash && parent.number + 1n === number)
  })
}

function range(from: bigint, to: bigint): bigint[] {
  const count = Number(to - from) + 1
  return Array.from({ length: Math.max(0, count) }, (_, index) => from + BigInt(index))
}
