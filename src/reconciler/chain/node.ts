import type { Clock } from '../../base/clock.ts'
import { BaseError } from '../../base/errors.ts'
import { forEachAtOnce, groupsOf } from '../../base/groups.ts'
import { inRounds } from '../../base/loop.ts'
import {
  AnswerError,
  quantity,
  readBlock,
  readReceipt,
  readTransaction,
  toQuantity,
  type Block,
  type MinedReceipt,
  type ShownTransaction,
} from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import { finalUnder, type Finality } from '../../chain/quorum.ts'
import type { HttpProvider } from '../../chain/rpc/http-provider.ts'
import { RpcError } from '../../chain/rpc/rpc-error.ts'
import type { RpcItem, RpcOutcome } from '../../chain/rpc/rpc.ts'
import { readToken, tokenCalls, type TokenFacts } from '../sources/tokens.ts'
import type { NodeHead } from './agree.ts'
import { createFeeReader, type Ask, type FeeReader } from './block-fees.ts'

/** One node, asked for many things at once. It waits and asks again where that may help. */
export type Node = {
  name: string
  head: (signal: AbortSignal) => Promise<NodeHead>
  receipts: (hashes: readonly Hex[], signal: AbortSignal) => Promise<Answers<Hex, MinedReceipt>>
  transactions: (
    hashes: readonly Hex[],
    signal: AbortSignal,
  ) => Promise<Answers<Hex, ShownTransaction>>
  blocks: (
    wanted: readonly { number: bigint; isFull: boolean }[],
    signal: AbortSignal,
  ) => Promise<Answers<bigint, Block>>
  /** What tokens say of themselves; null where there is no ERC-20 with decimals. */
  tokens: (addresses: readonly Hex[], signal: AbortSignal) => Promise<Answers<Hex, TokenFacts>>
  /** What transactions have cost, as far as that can be had. */
  fees: FeeReader
  /** How many transactions of the account are in blocks up to the number. */
  nonceAt: (account: Hex, at: bigint, signal: AbortSignal) => Promise<bigint>
}

/** Null says that the node knows no such thing; an error, that it did not say. */
export type Answers<Key, Value> = Map<Key, Value | null | BaseError>

export type NodeDeps = {
  provider: Pick<HttpProvider, 'name' | 'batch'>
  confirmations: Finality
  clock: Clock
}

export function createNode(deps: NodeDeps): Node {
  const { provider } = deps
  const ask: Ask = (items, signal, group = GROUP) => askAll(deps, { items, signal, group })
  const blockReceipts = createBlockReceipts(ask)
  const direct = async (hashes: readonly Hex[], signal: AbortSignal) => {
    const items = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
    return answersOf(hashes, await ask(items, signal), (hash, value) => {
      const receipt = readReceipt(value)
      return receipt.hash === hash ? receipt : undefined
    })
  }
  return {
    name: provider.name,
    head: (signal) => readHead(deps, signal),
    receipts: (hashes, signal) => readReceipts({ direct, blockReceipts }, hashes, signal),
    fees: createFeeReader(ask),
    async transactions(hashes, signal) {
      const items = hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] }))
      return answersOf(hashes, await ask(items, signal), (hash, value) => {
        const transaction = readTransaction(value)
        return transaction.hash === hash ? transaction : undefined
      })
    },
    async blocks(wanted, signal) {
      const items = wanted.map(({ number, isFull }) => blockCall(toQuantity(number), isFull))
      const numbers = wanted.map(({ number }) => number)
      return answersOf(numbers, await ask(items, signal), (number, value) => {
        const block = readBlock(value)
        return block.number === number ? block : undefined
      })
    },
    async tokens(addresses, signal) {
      const outcomes = await ask(addresses.flatMap(tokenCalls), signal)
      return new Map(
        addresses.map((token, at) => {
          const told = { decimals: outcomes[2 * at], symbol: outcomes[2 * at + 1] }
          return [token, tokenOf(told, provider.name)]
        }),
      )
    },
    async nonceAt(account, at, signal) {
      const item = { method: 'eth_getTransactionCount', params: [account, toQuantity(at)] }
      const [outcome] = await ask([item], signal)
      if (outcome?.ok !== true) throw outcome?.error ?? noAnswer(provider.name)
      return quantity(outcome.result, 'nonce')
    },
  }
}

/** A call that reverts is an answer; where none came, nothing is known of the token. */
function tokenOf(
  told: { decimals: RpcOutcome | undefined; symbol: RpcOutcome | undefined },
  name: string,
): TokenFacts | null | BaseError {
  const [decimals, symbol] = [told.decimals, told.symbol].map((outcome) =>
    outcome?.ok === false && outcome.error.code === 'rpc_reverted' ? REVERTED : outcome,
  )
  if (decimals?.ok !== true) return decimals?.error ?? noAnswer(name)
  if (symbol?.ok !== true) return symbol?.error ?? noAnswer(name)
  return readToken({ decimals: decimals.result, symbol: symbol.result }) ?? null
}

const REVERTED: RpcOutcome = { ok: true, result: '0x' }

function blockCall(at: string, isFull: boolean): RpcItem {
  return { method: 'eth_getBlockByNumber', params: [at, isFull] }
}

async function readHead(deps: NodeDeps, signal: AbortSignal): Promise<NodeHead> {
  const { confirmations, provider } = deps
  const items = [blockCall('latest', false)]
  if (typeof confirmations === 'string') items.push(blockCall(confirmations, false))
  const [latest, finalized] = await askAll(deps, { items, signal, group: GROUP })
  if (latest?.ok !== true) throw latest?.error ?? noAnswer(provider.name)
  const head = readBlock(latest.result)
  if (typeof confirmations !== 'string') {
    return { ...head, final: finalUnder(head.number, confirmations) }
  }
  const isTold = finalized?.ok === true && finalized.result !== null
  return { ...head, final: isTold ? readBlock(finalized.result).number : undefined }
}

/** One request's worth; a provider's own batches may be smaller, which it learns by itself. */
const GROUP = 100
/** So many requests are on their way to one node at a time. */
const GROUPS_AT_ONCE = 4
const ROUNDS = 6

/** Asks in groups, and what failed for a passing reason again, after growing pauses. */
async function askAll(
  deps: NodeDeps,
  { items, signal, group }: { items: readonly RpcItem[]; signal: AbortSignal; group: number },
): Promise<RpcOutcome[]> {
  const outcomes: RpcOutcome[] = []
  let open = items.map((_, index) => index)
  if (open.length === 0) return outcomes
  const { clock, provider } = deps
  const pace = { clock, rounds: ROUNDS, firstPauseMs: 250, maxPauseMs: 8000, signal }
  await inRounds(pace, async () => {
    await forEachAtOnce(groupsOf(open, group), GROUPS_AT_ONCE, async (part) => {
      const asked = part.flatMap((index) => items[index] ?? [])
      const answers = await provider.batch(asked, signal)
      for (const [at, index] of part.entries()) {
        outcomes[index] = answers[at] ?? { ok: false, error: noAnswer(provider.name) }
      }
    })
    signal.throwIfAborted()
    open = open.filter((index) => isPassing(outcomes[index]))
    return open.length === 0 ? outcomes : undefined
  })
  return outcomes
}

function isPassing(outcome: RpcOutcome | undefined): boolean {
  return outcome?.ok === false && outcome.error.retryable
}

function answersOf<Key, Value>(
  keys: readonly Key[],
  outcomes: readonly RpcOutcome[],
  read: (key: Key, value: unknown) => Value | undefined,
): Answers<Key, Value> {
  return new Map(
    keys.map((key, index) => [key, answerOf(outcomes[index], (value) => read(key, value))]),
  )
}

/** An answer about something else than the question is an error. */
function answerOf<Value>(
  outcome: RpcOutcome | undefined,
  read: (value: unknown) => Value | undefined,
): Value | null | BaseError {
  if (outcome?.ok !== true) return outcome?.error ?? noAnswer('The node')
  if (outcome.result === null) return null
  try {
    return read(outcome.result) ?? new AnswerError('hash')
  } catch (error) {
    if (error instanceof AnswerError) return error
    throw error
  }
}

type Receipts = Answers<Hex, MinedReceipt>

type ReceiptReaders = {
  direct: (hashes: readonly Hex[], signal: AbortSignal) => Promise<Receipts>
  blockReceipts: (
    blocks: readonly bigint[],
    options: { density: number; signal: AbortSignal },
  ) => Promise<MinedReceipt[]>
}

const SAMPLE = 64
/** So many neighbours are looked at together: whether they share a block is what is asked. */
const NEIGHBOURS = 8
/** From so many of ours in a block on, the whole block is the cheaper question. */
const DENSE = 4

/**
 * Records of one time are in the same blocks. Where a few neighbours show that, the rest is read by
 * whole blocks, so that the number of calls follows the blocks and not the records.
 */
async function readReceipts(
  readers: ReceiptReaders,
  hashes: readonly Hex[],
  signal: AbortSignal,
): Promise<Receipts> {
  const found: Receipts = new Map()
  let open = hashes
  while (open.length > 0) {
    const sample = sampleOf(open)
    for (const [hash, answer] of await readers.direct(sample, signal)) found.set(hash, answer)
    const { blocks, density } = densityOf(sample, found)
    open = open.filter((hash) => !found.has(hash))
    if (density < DENSE) {
      for (const [hash, answer] of await readers.direct(open, signal)) found.set(hash, answer)
      break
    }
    const wanted = new Set(open)
    const numbers = spanOf(blocks, open.length / density)
    for (const receipt of await readers.blockReceipts(numbers, { density, signal })) {
      if (wanted.has(receipt.hash)) found.set(receipt.hash, receipt)
    }
    open = open.filter((hash) => !found.has(hash))
  }
  return found
}

/** A few neighbours here and there, over the whole list. */
function sampleOf(hashes: readonly Hex[]): Hex[] {
  if (hashes.length <= SAMPLE) return [...hashes]
  const runs = SAMPLE / NEIGHBOURS
  const step = Math.floor(hashes.length / runs)
  return Array.from({ length: runs }, (_, run) =>
    hashes.slice(run * step, run * step + NEIGHBOURS),
  ).flat()
}

/** How many neighbours share a block, on average, and which blocks that are. */
function densityOf(
  sample: readonly Hex[],
  found: Receipts,
): { blocks: ReadonlySet<bigint>; density: number } {
  const blocks = new Set<bigint>()
  let places = 0
  for (const some of groupsOf(sample, NEIGHBOURS)) {
    const shared = new Set<bigint>()
    for (const hash of some) {
      const receipt = found.get(hash)
      if (receipt && !(receipt instanceof BaseError)) shared.add(receipt.block.number)
    }
    places += shared.size
    for (const number of shared) blocks.add(number)
  }
  return { blocks, density: places === 0 ? 0 : sample.length / places }
}

/** What lies between the blocks as well, unless that is more than the rest can be in. */
function spanOf(blocks: ReadonlySet<bigint>, expected: number): bigint[] {
  const seen = [...blocks].toSorted((a, b) => (a < b ? -1 : 1))
  const [first = 0n] = seen
  const last = seen.at(-1) ?? first
  const length = Number(last - first) + 1
  if (length > Math.max(seen.length, 2 * expected)) return seen
  return Array.from({ length }, (_, at) => first + BigInt(at))
}

/** Blocks that cannot be had this way are left out: their receipts are asked for one by one. */
function createBlockReceipts(ask: Ask): ReceiptReaders['blockReceipts'] {
  let isMissing = false
  return async (blocks, { density, signal }) => {
    if (isMissing) return []
    const items = blocks.map((number) => ({
      method: 'eth_getBlockReceipts',
      params: [toQuantity(number)],
    }))
    // A block may hold far more than the neighbours showed, so few are asked for at once.
    const group = Math.max(1, Math.floor(16 / density))
    const outcomes = await ask(items, signal, group)
    isMissing = outcomes.some((one) => !one.ok && one.error.code === 'rpc_method_missing')
    return outcomes.flatMap((outcome) => {
      if (!outcome.ok || !Array.isArray(outcome.result)) return []
      return outcome.result.flatMap((value) => {
        const receipt = answerOf({ ok: true, result: value }, readReceipt)
        return receipt === null || receipt instanceof BaseError ? [] : [receipt]
      })
    })
  }
}

function noAnswer(name: string): RpcError {
  return new RpcError(`${name} did not answer a part of a batch. Ask again.`, {
    code: 'rpc_garbage',
  })
}
