import {
  quantity,
  readBlock,
  readBlockNumber,
  readReceipt,
  toQuantity,
  type Block,
  type Log,
} from '../chain/answers.ts'
import { agreedOn, attested, finalUnder, type Finality, type Quorum } from '../chain/quorum.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import type { AttemptBlock, Hex } from '../domain/orders.ts'
import type { BlockId } from '../store/orders/chain-cursor.ts'

/** One look at the chain, as far as enough providers agree on it. */
export type ChainLook = {
  head: BlockId
  /** The last block that counts as final; undefined while there is none. */
  final: BlockId | undefined
  /** The hash at a height now. Undefined: not agreed on, or not reached. */
  hashAt: (number: bigint) => Promise<Hex | undefined>
  quorum: Quorum
  /** What each provider showed at a height during this look, so that it is asked once. */
  blocks: Map<string, Promise<Block | undefined>>
}

/** A mined transaction whose block is canonical at a second look. */
export type CanonicalReceipt = { block: AttemptBlock; logs: readonly Log[] }

/** A transaction of ours. */
type Wanted = { hash: Hex; signer: Hex }

/** Which transaction took a nonce. */
export type Taker = { hash: Hex; block: BlockId; to: Hex | null; value: bigint; input: Hex }

/** Undefined when the providers do not agree on a head, of which nothing can be concluded. */
export async function lookAt(
  quorum: Quorum,
  confirmations: Finality,
): Promise<ChainLook | undefined> {
  const known = new Map<bigint, Promise<Hex | undefined>>()
  const hashAt = (number: bigint): Promise<Hex | undefined> => {
    const found = known.get(number) ?? agreedHash(quorum, number)
    known.set(number, found)
    return found
  }
  const height = await attested(quorum, async (provider, signal) =>
    quantity(await provider.request({ method: 'eth_blockNumber', signal }), 'block number'),
  )
  if (height === undefined) return undefined
  const hash = await hashAt(height)
  if (hash === undefined) return undefined
  const finalHeight =
    confirmations === 'finalized'
      ? await attested(quorum, finalizedNumber)
      : finalUnder(height, confirmations)
  const final =
    finalHeight === undefined
      ? undefined
      : await blockId(finalHeight < height ? finalHeight : height, hashAt)
  return { head: { number: height, hash }, final, hashAt, quorum, blocks: new Map() }
}

/** How many transactions of the address are in blocks up to the height, or up to the head. */
export async function nonceOnChain(
  quorum: Quorum,
  { signer, at }: { signer: Hex; at: bigint | 'latest' },
): Promise<bigint | undefined> {
  return attested(quorum, (provider, signal) => countAt(provider, { signer, at, signal }))
}

/**
 * The receipt of a transaction. A node that lags says null, so undefined means unknown and never
 * that it was not mined.
 */
export async function findSeen(
  { quorum, blocks }: Pick<ChainLook, 'quorum' | 'blocks'>,
  wanted: Wanted,
): Promise<CanonicalReceipt | undefined> {
  return agreedOn(quorum, (provider, signal) => seenBy(provider, { ...wanted, blocks, signal }))
}

/** Which transaction took the nonce in a block up to `high`, as enough providers tell it alike. */
export async function findTaker(
  quorum: Quorum,
  wanted: { signer: Hex; nonce: bigint; high: bigint },
): Promise<Taker | undefined> {
  return agreedOn(quorum, (provider, signal) => takerBy(provider, { ...wanted, signal }))
}

async function blockId(number: bigint, hashAt: ChainLook['hashAt']): Promise<BlockId | undefined> {
  const hash = await hashAt(number)
  return hash && { number, hash }
}

async function agreedHash(quorum: Quorum, number: bigint): Promise<Hex | undefined> {
  return agreedOn(quorum, async (provider, signal) => {
    const block = await blockAt(provider, { at: number, full: false, signal })
    return block?.hash
  })
}

async function finalizedNumber(
  provider: Provider,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const params = ['finalized', false]
  return readBlockNumber(await provider.request({ method: 'eth_getBlockByNumber', params, signal }))
}

async function seenBy(
  provider: Provider,
  { hash, signer, blocks, signal }: Pick<ChainLook, 'blocks'> & Wanted & { signal: AbortSignal },
): Promise<CanonicalReceipt | undefined> {
  const params = [hash]
  const answer = await provider.request({ method: 'eth_getTransactionReceipt', params, signal })
  if (answer === null) return undefined
  const read = readReceipt(answer)
  const { from, block: place, succeeded, gasUsed, gasPrice, rollupFee, logs, ...receipt } = read
  if (receipt.hash !== hash || from !== signer) return undefined
  const known = blocks.get(`${provider.name} ${place.number}`)
  const looking = known ?? blockAt(provider, { at: place.number, full: false, signal })
  blocks.set(`${provider.name} ${place.number}`, looking)
  const secondLook = await looking
  if (secondLook?.hash !== place.hash || !secondLook.hashes.includes(hash)) return undefined
  return { block: { ...place, succeeded, gasUsed, gasPrice, rollupFee }, logs }
}

/** Doubles its step back until the nonce was free, then halves the range to the block. */
async function takerBy(
  provider: Provider,
  wanted: { signer: Hex; nonce: bigint; high: bigint; signal: AbortSignal },
): Promise<Taker | undefined> {
  const { signer, nonce, signal } = wanted
  const isTakenAt = async (at: bigint) => (await countAt(provider, { signer, at, signal })) > nonce
  let { high } = wanted
  if (!(await isTakenAt(high))) return undefined
  let low = high
  for (let step = 1n; low > 0n && (low === high || (await isTakenAt(low))); step *= 2n) {
    high = low
    low = low > step ? low - step : 0n
  }
  // The range at least halves in each round, and block numbers have 64 bits.
  for (let round = 0; round < 64 && high - low > 1n; round++) {
    const middle = (low + high) / 2n
    if (await isTakenAt(middle)) high = middle
    else low = middle
  }
  const block = await blockAt(provider, { at: high, full: true, signal })
  for (const one of block?.transactions?.values() ?? []) {
    if (one.from !== signer || one.nonce !== nonce) continue
    const { hash, to, value, input } = one
    return { hash, block: { number: high, hash: block!.hash }, to, value, input }
  }
  return undefined
}

async function countAt(
  provider: Provider,
  { signer, at, signal }: { signer: Hex; at: bigint | 'latest'; signal: AbortSignal },
): Promise<bigint> {
  const params = [signer, at === 'latest' ? at : toQuantity(at)]
  const count = await provider.request({ method: 'eth_getTransactionCount', params, signal })
  return quantity(count, 'transaction count')
}

async function blockAt(
  provider: Provider,
  { at, full, signal }: { at: bigint; full: boolean; signal: AbortSignal },
): Promise<Block | undefined> {
  const params = [toQuantity(at), full]
  const block = await provider.request({ method: 'eth_getBlockByNumber', params, signal })
  return block === null ? undefined : readBlock(block)
}
