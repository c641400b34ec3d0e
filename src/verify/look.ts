import { array, data, quantity, record, toQuantity } from '../chain/answers.ts'
import type { Hex } from '../chain/hex.ts'
import { hashOfBytes } from '../chain/hex.ts'
import {
  decodeTransaction,
  encodeTransaction,
  UnknownTransactionTypeError,
  type ChainTransaction,
} from '../chain/proof/block-transaction.ts'
import type { Header } from '../chain/proof/header.ts'
import { decodeReceipt, encodeReceipt, type Receipt } from '../chain/proof/receipt.ts'
import { buildListTrie, type ListTrie } from '../chain/proof/trie.ts'
import {
  failureOf,
  LieError,
  UnsupportedError,
  type Asker,
  type Failure,
  type ShownBlock,
} from './ask.ts'

/** A transaction in a block, proven from the block's hash. */
export type Sighting = {
  provider: string
  header: Header
  index: number
  raw: Hex
  transaction: ChainTransaction
  receipt: Receipt
  gasUsed: bigint
  tries: { transactions: ListTrie; receipts: ListTrie }
}

/** What one provider shows of a transaction. */
export type TransactionLook =
  | { state: 'included'; sighting: Sighting }
  | { state: 'mempool'; transaction: ChainTransaction }
  | { state: 'absent' }
  | { state: 'reorged'; header: Header; canonical: Hex | undefined }
  | { state: Failure; message: string }

/**
 * Reads a transaction and all of its block from one provider, and rebuilds both tries. Answers that
 * contradict each other are read again once, since the chain may have moved between them.
 */
export async function look(asker: Asker, hash: Hex): Promise<TransactionLook> {
  const first = await tryLook(asker, hash)
  return first.mayHaveMoved ? (await tryLook(asker, hash)).look : first.look
}

/** Whether the provider now shows the transaction in this block; what it cannot say, it shows. */
export async function isShownIn(
  asker: Asker,
  { hash, block }: { hash: Hex; block: Hex },
): Promise<boolean> {
  try {
    const answer = await asker.ask('eth_getTransactionByHash', hash)
    return answer !== null && record(answer, 'transaction')['blockHash'] === block
  } catch (error) {
    return failureOf(error).kind === 'unavailable'
  }
}

async function tryLook(
  asker: Asker,
  hash: Hex,
): Promise<{ look: TransactionLook; mayHaveMoved: boolean }> {
  try {
    const seen = await lookOnce(asker, hash)
    return { look: seen, mayHaveMoved: seen.state === 'reorged' }
  } catch (error) {
    const { kind, message } = failureOf(error)
    const mayHaveMoved = error instanceof LieError && error.isAcrossAnswers
    return { look: { state: kind, message }, mayHaveMoved }
  }
}

async function lookOnce(asker: Asker, hash: Hex): Promise<TransactionLook> {
  const answer = await asker.ask('eth_getTransactionByHash', hash)
  if (answer === null) return { state: 'absent' }
  const shown = record(answer, 'transaction')
  const raw = await rawOf(asker, { shown, hash })
  if (hashOfBytes(raw) !== hash) throw new LieError('shows another transaction under this hash')
  const transaction = await decode(raw)
  if (shown['from'] !== undefined && data(shown['from'], 'from', 20) !== transaction.from) {
    throw new LieError('names another sender than the signer')
  }
  if (shown['blockHash'] === null || shown['blockHash'] === undefined) {
    return { state: 'mempool', transaction }
  }
  const blockHash = data(shown['blockHash'], 'blockHash', 32)
  const block = await asker.blockOf(blockHash)
  if (block === undefined) {
    throw new LieError('does not know the block it names', { isAcrossAnswers: true })
  }
  const sighting = await sight(asker, { block, raw, transaction, shown })
  const { header } = block
  const second = await asker.blockAt(header.number)
  if (second?.header.hash !== header.hash) {
    return { state: 'reorged', header, canonical: second?.header.hash }
  }
  return { state: 'included', sighting }
}

type Found = {
  block: ShownBlock
  raw: Hex
  transaction: ChainTransaction
  shown: Readonly<Record<string, unknown>>
}

async function sight(asker: Asker, { block, raw, transaction, shown }: Found): Promise<Sighting> {
  const { header } = block
  const raws = await rawsOf(asker, block)
  const transactions = buildListTrie(raws)
  if (transactions.root !== header.transactionsRoot) {
    throw new LieError("shows transactions that are not the block's")
  }
  const index = raws.indexOf(raw)
  if (index === -1) throw new LieError('names a block that does not have the transaction')
  if (
    quantity(shown['blockNumber'], 'blockNumber') !== header.number ||
    quantity(shown['transactionIndex'], 'transactionIndex') !== BigInt(index)
  ) {
    throw new LieError('shows the transaction at another index than the block')
  }
  const shownReceipts = await receiptsOf(asker, block)
  const encoded = shownReceipts.map(encodeReceipt)
  const receipts = buildListTrie(encoded)
  if (receipts.root !== header.receiptsRoot) {
    throw new LieError("shows receipts that are not the block's", { isAcrossAnswers: true })
  }
  const receipt = decodeReceipt(encoded[index] ?? '0x')
  const before = index === 0 ? 0n : decodeReceipt(encoded[index - 1] ?? '0x').cumulativeGasUsed
  const gasUsed = receipt.cumulativeGasUsed - before
  checkSurroundings(shownReceipts[index], { header, index, transaction, gasUsed })
  const tries = { transactions, receipts }
  return { provider: asker.name, header, index, raw, transaction, receipt, gasUsed, tries }
}

/** The root does not cover the fields that a node adds to a receipt, but programs read them. */
function checkSurroundings(
  value: unknown,
  facts: { header: Header; index: number; transaction: ChainTransaction; gasUsed: bigint },
): void {
  const receipt = record(value, 'receipt')
  const { header, index, transaction, gasUsed } = facts
  const isTrue =
    data(receipt['transactionHash'], 'transactionHash', 32) === transaction.hash &&
    data(receipt['blockHash'], 'blockHash', 32) === header.hash &&
    quantity(receipt['blockNumber'], 'blockNumber') === header.number &&
    quantity(receipt['transactionIndex'], 'transactionIndex') === BigInt(index) &&
    quantity(receipt['gasUsed'], 'gasUsed') === gasUsed &&
    data(receipt['from'], 'from', 20) === transaction.from
  if (!isTrue) throw new LieError('adds to a receipt what the block does not show')
  for (const value of array(receipt['logs'], 'logs')) {
    const log = record(value, 'log')
    const isRemoved = log['removed'] === true
    if (isRemoved || data(log['transactionHash'], 'transactionHash', 32) !== transaction.hash) {
      throw new LieError('adds to a log what the block does not show')
    }
  }
}

async function receiptsOf(asker: Asker, { header, transactions }: ShownBlock): Promise<unknown[]> {
  const number = toQuantity(header.number)
  const all = await asker.ask('eth_getBlockReceipts', number).catch(() => undefined)
  if (Array.isArray(all)) return all as unknown[]
  // A poorer node offers them one by one only.
  const receipts: unknown[] = []
  for (let at = 0; at < transactions.length; at += AT_ONCE) {
    const some = transactions.slice(at, at + AT_ONCE).map((shown) => {
      const hash = data(record(shown, 'transaction')['hash'], 'hash', 32)
      return asker.ask('eth_getTransactionReceipt', hash)
    })
    receipts.push(...(await Promise.all(some)))
  }
  if (receipts.includes(null)) {
    throw new LieError('withholds receipts of a block that it shows', { isAcrossAnswers: true })
  }
  return receipts
}

const AT_ONCE = 16
/** Several times what the largest blocks hold; each may cost a question. */
const MAX_TRANSACTIONS = 20_000

async function rawsOf(asker: Asker, { transactions }: ShownBlock): Promise<Hex[]> {
  if (transactions.length > MAX_TRANSACTIONS) {
    throw new UnsupportedError(`a block of ${transactions.length} transactions`)
  }
  const raws: Hex[] = []
  for (const value of transactions) {
    const shown = record(value, 'transaction')
    raws.push(await rawOf(asker, { shown, hash: data(shown['hash'], 'hash', 32) }))
  }
  return raws
}

/** Other chains have types of their own, which their nodes can show as bytes. */
async function rawOf(
  asker: Asker,
  { shown, hash }: { shown: Readonly<Record<string, unknown>>; hash: Hex },
): Promise<Hex> {
  try {
    return encodeTransaction(shown)
  } catch (error) {
    if (!(error instanceof UnknownTransactionTypeError)) throw error
    const raw = await asker.ask('eth_getRawTransactionByHash', hash).catch(() => null)
    if (raw === null) throw new UnsupportedError('a transaction of an unknown type')
    return data(raw, 'raw transaction')
  }
}

async function decode(raw: Hex): Promise<ChainTransaction> {
  try {
    return await decodeTransaction(raw)
  } catch (error) {
    if (error instanceof UnknownTransactionTypeError) {
      throw new UnsupportedError('a transaction of an unknown type')
    }
    throw error
  }
}
