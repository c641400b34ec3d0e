import type { Provider } from '../chain/provider.ts'
import type { AttemptBlock, Hex } from '../domain/orders.ts'
import type { BlockId } from '../store/chain-cursor.ts'
import { agreedOn, attested, type Quorum } from './quorum.ts'

/** One look at the chain, as far as enough providers agree on it. */
export type Look = {
  head: BlockId
  /** The last block that counts as final; undefined while there is none. */
  final: BlockId | undefined
  /** The hash at a height now. Undefined: not agreed on, or not reached. */
  hashAt: (number: bigint) => Promise<Hex | undefined>
  quorum: Quorum
  /** What each provider showed at a height during this look, so that it is asked once. */
  blocks: Map<string, Promise<Fields | undefined>>
}

/** A mined transaction whose block is canonical at a second look. */
export type Seen = { block: AttemptBlock; logs: readonly Log[] }

export type Log = { address: Hex; topics: readonly Hex[]; data: Hex }

/** A transaction of ours. */
type Wanted = { hash: Hex; signer: Hex }

/** Which transaction took a nonce. */
export type Taker = { hash: Hex; block: BlockId; to: Hex | null; value: bigint; input: Hex }

/** Undefined when the providers do not agree on a head, of which nothing can be concluded. */
export async function lookAt(
  quorum: Quorum,
  confirmations: number | 'finalized',
): Promise<Look | undefined> {
  const known = new Map<bigint, Promise<Hex | undefined>>()
  const hashAt = (number: bigint): Promise<Hex | undefined> => {
    const found = known.get(number) ?? agreedHash(quorum, number)
    known.set(number, found)
    return found
  }
  const height = await attested(quorum, async (provider, signal) =>
    quantity(await provider.request({ method: 'eth_blockNumber', signal })),
  )
  if (height === undefined) return undefined
  const hash = await hashAt(height)
  if (hash === undefined) return undefined
  const finalHeight =
    confirmations === 'finalized'
      ? await attested(quorum, finalizedNumber)
      : height - BigInt(confirmations) + 1n
  const final =
    finalHeight === undefined || finalHeight < 0n
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
  { quorum, blocks }: Pick<Look, 'quorum' | 'blocks'>,
  wanted: Wanted,
): Promise<Seen | undefined> {
  return agreedOn(
    quorum,
    (provider, signal) => seenBy(provider, { ...wanted, blocks, signal }),
    fingerprint,
  )
}

/** Which transaction took the nonce in a block up to `high`, as enough providers tell it alike. */
export async function findTaker(
  quorum: Quorum,
  wanted: { signer: Hex; nonce: bigint; high: bigint },
): Promise<Taker | undefined> {
  return agreedOn(
    quorum,
    (provider, signal) => takerBy(provider, { ...wanted, signal }),
    fingerprint,
  )
}

async function blockId(number: bigint, hashAt: Look['hashAt']): Promise<BlockId | undefined> {
  const hash = await hashAt(number)
  return hash && { number, hash }
}

async function agreedHash(quorum: Quorum, number: bigint): Promise<Hex | undefined> {
  return agreedOn(quorum, async (provider, signal) => {
    const block = await blockAt(provider, { at: toHex(number), full: false, signal })
    return block && hex(block['hash'], 32)
  })
}

async function finalizedNumber(
  provider: Provider,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const block = await blockAt(provider, { at: 'finalized', full: false, signal })
  return block && quantity(block['number'])
}

async function seenBy(
  provider: Provider,
  { hash, signer, blocks, signal }: Pick<Look, 'blocks'> & Wanted & { signal: AbortSignal },
): Promise<Seen | undefined> {
  const receipt = await provider.request({
    method: 'eth_getTransactionReceipt',
    params: [hash],
    signal,
  })
  if (!isRecord(receipt)) return undefined
  if (receipt['transactionHash'] !== hash || lower(receipt['from']) !== signer) return undefined
  const block = {
    number: quantity(receipt['blockNumber']),
    hash: hex(receipt['blockHash'], 32),
    succeeded: quantity(receipt['status']) === 1n,
    gasUsed: quantity(receipt['gasUsed']),
    gasPrice: quantity(receipt['effectiveGasPrice']),
  }
  const at = toHex(block.number)
  const known = blocks.get(`${provider.name} ${at}`)
  const looking = known ?? blockAt(provider, { at, full: false, signal })
  blocks.set(`${provider.name} ${at}`, looking)
  const secondLook = await looking
  const hashes: unknown = secondLook?.['transactions']
  if (secondLook?.['hash'] !== block.hash) return undefined
  if (!Array.isArray(hashes) || !hashes.includes(hash)) return undefined
  return { block, logs: list(receipt['logs']).map(readLog) }
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
  const block = await blockAt(provider, { at: toHex(high), full: true, signal })
  if (!block) return undefined
  const id = { number: high, hash: hex(block['hash'], 32) }
  const taker = list(block['transactions']).find(
    (one) => isRecord(one) && lower(one['from']) === signer && quantity(one['nonce']) === nonce,
  )
  return isRecord(taker) ? readTaker(taker, id) : undefined
}

async function countAt(
  provider: Provider,
  { signer, at, signal }: { signer: Hex; at: bigint | 'latest'; signal: AbortSignal },
): Promise<bigint> {
  const block = at === 'latest' ? at : toHex(at)
  return quantity(
    await provider.request({ method: 'eth_getTransactionCount', params: [signer, block], signal }),
  )
}

async function blockAt(
  provider: Provider,
  { at, full, signal }: { at: string; full: boolean; signal: AbortSignal },
): Promise<Fields | undefined> {
  const block = await provider.request({
    method: 'eth_getBlockByNumber',
    params: [at, full],
    signal,
  })
  return isRecord(block) ? block : undefined
}

function readLog(log: unknown): Log {
  if (!isRecord(log)) throw new TypeError('a log is no object')
  return {
    address: hex(lower(log['address']), 20),
    topics: list(log['topics']).map((topic) => hex(topic, 32)),
    data: hex(log['data']),
  }
}

function readTaker(transaction: Fields, block: BlockId): Taker {
  const { to } = transaction
  return {
    hash: hex(transaction['hash'], 32),
    block,
    to: to === null || to === undefined ? null : hex(lower(to), 20),
    value: quantity(transaction['value']),
    input: hex(transaction['input']),
  }
}

type Fields = Readonly<Record<string, unknown>>

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('the provider sent no list')
  return value
}

function lower(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value
}

export function quantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(value)) {
    throw new TypeError('the provider sent no number')
  }
  return BigInt(value)
}

/** Digits of both cases are the same bytes; `bytes` undefined allows any number of them. */
export function hex(value: unknown, bytes?: number): Hex {
  const text = lower(value)
  const isHex = typeof text === 'string' && /^0x([0-9a-f]{2})*$/.test(text)
  if (!isHex || (bytes !== undefined && text.length !== 2 + bytes * 2)) {
    throw new TypeError('the provider sent no bytes')
  }
  return text as Hex
}

function toHex(number: bigint): Hex {
  return `0x${number.toString(16)}`
}

/** Equal facts have equal text: the fields stand in one order, and bigints as digits. */
function fingerprint(fact: Seen | Taker): string {
  return JSON.stringify(fact, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
}
