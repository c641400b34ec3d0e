import type { Hash } from 'viem'

import {
  AnswerUnreadableError,
  parseBlock,
  parseReceipt,
  parseReceipts,
  parseTransactionHashes,
  type BlockRef,
  type Receipt,
  type Seen,
} from './facts.ts'
import type { ProviderAnswer, Providers } from './providers.ts'
import { toQuantity } from './quantity.ts'
import { RpcError } from './rpc-error.ts'

/** So many blocks, the receipt's own included, or whatever the chain itself calls final. */
export type Finality = number | 'finalized'

export type BlockTag = 'latest' | 'finalized'

/** Reads blocks and receipts. What a provider does not know is unknown, never missing. */
export type Reader = {
  head: (signal: AbortSignal) => Promise<Seen<BlockRef>>
  /** The latest block that cannot be reorganised any more, undefined while there is none. */
  final: (signal: AbortSignal) => Promise<Seen<bigint> | undefined>
  /** The blocks of these numbers; one that is unknown is left out. */
  blocks: (numbers: readonly bigint[], signal: AbortSignal) => Promise<Seen<BlockRef>[]>
  /** The receipts of these transactions; one that is unknown is left out. */
  receipts: (hashes: readonly Hash[], signal: AbortSignal) => Promise<Map<Hash, Seen<Receipt>>>
  /** All receipts of one block, undefined while nobody has them under that very hash. */
  blockReceipts: (block: BlockRef, signal: AbortSignal) => Promise<Seen<Receipt[]> | undefined>
  /** Holds a receipt against what another provider says, where there is one. */
  lookAgain: (receipt: Seen<Receipt>, signal: AbortSignal) => Promise<SecondLook>
}

export type SecondLook =
  /** `isFinal` in the eyes of the one that looked again; the first one must think so too. */
  | { verdict: 'agrees'; provider: string; isOther: boolean; isFinal: boolean }
  /** They contradict each other: nothing may be decided from either. */
  | { verdict: 'differs'; provider: string; isOther: boolean; field: string }
  /** The other one does not know the block or the receipt, which a lag explains too. */
  | { verdict: 'unknown'; provider: string; isOther: boolean }

export function createReader(deps: { providers: Providers; finality: Finality }): Reader {
  const { providers, finality } = deps
  const receipts: Reader['receipts'] = (hashes, signal) => readReceipts(providers, hashes, signal)
  const all = createBlockReceipts(providers, receipts)
  return {
    head: (signal) => readHead(providers, signal),
    final: createFinal({ providers, finality }),
    blocks: (numbers, signal) => readBlocks(providers, numbers, signal),
    receipts,
    blockReceipts: all,
    lookAgain: (receipt, signal) => lookAgain({ providers, finality, receipt, signal }),
  }
}

/**
 * The height that two providers reach, or the only one there is: one that lies or is mistaken about
 * its head makes nothing final that is not.
 */
export function createFinal(deps: {
  providers: Pick<Providers, 'askAll'>
  finality: Finality
}): Reader['final'] {
  const { providers, finality } = deps
  const tag = finality === 'finalized' ? finality : 'latest'
  return async (signal) => {
    const answers = await providers.askAll({ ...blockCall(tag), signal })
    const needed = Math.min(2, answers.length)
    const told = answers.filter((answer) => answer.ok)
    if (told.length < needed) throw firstError(answers)
    const heads = told
      .flatMap(({ result, provider }) => {
        const value = parseBlock({ value: result, provider })
        return value === undefined ? [] : [{ value, provider }]
      })
      .toSorted((a, b) => Number(b.value.number - a.value.number))
    const head = heads[needed - 1]
    if (head === undefined) return undefined
    const number = finality === 'finalized' ? head.value.number : finalNumber(head.value, finality)
    return number === undefined ? undefined : { value: number, provider: head.provider }
  }
}

function firstError(answers: readonly ProviderAnswer[]): Error {
  const failed = answers.find((answer) => !answer.ok)
  return failed?.error ?? new RpcError('No provider answered.', { code: 'rpc_no_provider' })
}

async function readHead(providers: Providers, signal: AbortSignal): Promise<Seen<BlockRef>> {
  const head = await readTag(providers, 'latest', signal)
  if (head === undefined) throw new AnswerUnreadableError('The provider', 'head')
  return head
}

async function readTag(
  providers: Providers,
  tag: BlockTag,
  signal: AbortSignal,
): Promise<Seen<BlockRef> | undefined> {
  const { result, provider } = await providers.ask({ ...blockCall(tag), signal })
  const value = parseBlock({ value: result, provider })
  return value && { value, provider }
}

function blockCall(at: bigint | BlockTag) {
  const name = typeof at === 'bigint' ? toQuantity(at) : at
  return { method: 'eth_getBlockByNumber', params: [name, false] }
}

async function readBlocks(
  providers: Providers,
  numbers: readonly bigint[],
  signal: AbortSignal,
): Promise<Seen<BlockRef>[]> {
  const answers = await providers.askBatch(numbers.map(blockCall), { signal })
  return answers.flatMap((answer, index) => {
    if (!answer.ok) return []
    const { provider } = answer
    const value = parseBlock({ value: answer.result, provider })
    if (value === undefined) return []
    if (value.number !== numbers[index]) throw new AnswerUnreadableError(provider, 'number')
    return [{ value, provider }]
  })
}

async function readReceipts(
  providers: Providers,
  hashes: readonly Hash[],
  signal: AbortSignal,
): Promise<Map<Hash, Seen<Receipt>>> {
  const items = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
  const answers = await providers.askBatch(items, { signal })
  const found = new Map<Hash, Seen<Receipt>>()
  for (const [index, answer] of answers.entries()) {
    const hash = hashes[index]
    if (!answer.ok || hash === undefined) continue
    const value = knownReceipt(answer)
    // Another transaction's receipt is no answer, and the others' are not lost for it.
    if (value?.transactionHash === hash.toLowerCase()) {
      found.set(hash, { value, provider: answer.provider })
    }
  }
  return found
}

function knownReceipt(answer: { result: unknown; provider: string }): Receipt | undefined {
  try {
    return parseReceipt({ value: answer.result, provider: answer.provider })
  } catch (error) {
    if (error instanceof AnswerUnreadableError) return undefined
    throw error
  }
}

/** In one call where a provider can; from the block's list of transactions where none can. */
function createBlockReceipts(
  providers: Providers,
  receipts: Reader['receipts'],
): Reader['blockReceipts'] {
  let isMissing = false
  const inOneCall = async (block: BlockRef, signal: AbortSignal) => {
    const params = [toQuantity(block.number)]
    const answer = await providers.ask({ method: 'eth_getBlockReceipts', params, signal })
    const { provider } = answer
    const list = parseReceipts({ value: answer.result, provider })
    if (list === undefined) return undefined
    return list.every(({ blockHash }) => blockHash === block.hash)
      ? { value: list, provider }
      : undefined
  }
  const oneByOne = async (block: BlockRef, signal: AbortSignal) => {
    const params = [block.hash, false]
    const answer = await providers.ask({ method: 'eth_getBlockByHash', params, signal })
    const { provider, result } = answer
    if (result === null) return undefined
    const hashes = parseTransactionHashes({ value: result, provider })
    const found = await receipts(hashes, signal)
    const list = hashes.flatMap((hash) => found.get(hash)?.value ?? [])
    const isWhole = list.length === hashes.length
    const isSame = list.every(({ blockHash }) => blockHash === block.hash)
    return isWhole && isSame ? { value: list, provider } : undefined
  }
  return async (block, signal) => {
    if (isMissing) return oneByOne(block, signal)
    try {
      return await inOneCall(block, signal)
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== 'rpc_method_missing') throw error
      isMissing = true
      return oneByOne(block, signal)
    }
  }
}

async function lookAgain(look: {
  providers: Providers
  finality: Finality
  receipt: Seen<Receipt>
  signal: AbortSignal
}): Promise<SecondLook> {
  const { providers, finality, receipt, signal } = look
  const { value: first } = receipt
  const answer = await providers.secondLookBatch(
    [
      blockCall(first.blockNumber),
      { method: 'eth_getTransactionReceipt', params: [first.transactionHash] },
      blockCall(finality === 'finalized' ? 'finalized' : 'latest'),
    ],
    { first: receipt.provider, signal },
  )
  const { provider, isOther } = answer
  const [block, second, top] = answer.results.map((value) => ({ value, provider }))
  const canonical = block && parseBlock(block)
  const again = second && parseReceipt(second)
  const last = top && parseBlock(top)
  if (canonical === undefined) return { verdict: 'unknown', provider, isOther }
  if (canonical.hash !== first.blockHash) {
    return { verdict: 'differs', provider, isOther, field: 'blockHash' }
  }
  if (again === undefined) return { verdict: 'unknown', provider, isOther }
  const field = differenceOf(first, again)
  if (field !== undefined) return { verdict: 'differs', provider, isOther, field }
  const final = last && (finality === 'finalized' ? last.number : finalNumber(last, finality))
  const isFinal = final !== undefined && first.blockNumber <= final
  return { verdict: 'agrees', provider, isOther, isFinal }
}

/** The block that has the number of confirmations when this one is the head. */
function finalNumber(head: BlockRef, confirmations: number): bigint | undefined {
  const number = head.number - BigInt(confirmations) + 1n
  return number < 0n ? undefined : number
}

function differenceOf(a: Receipt, b: Receipt): string | undefined {
  const { logs: logsOfA, ...plainA } = a
  const { logs: logsOfB, ...plainB } = b
  const fields = Object.keys(plainA) as (keyof typeof plainA)[]
  const field = fields.find((name) => plainA[name] !== plainB[name])
  if (field !== undefined) return field
  return JSON.stringify(logsOfA) === JSON.stringify(logsOfB) ? undefined : 'logs'
}
