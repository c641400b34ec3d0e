import { BaseError } from '../base/errors.ts'
import type { Hex } from '../chain/hex.ts'
import type { Log } from '../chain/receipt.ts'
import { array, data, quantity, record } from '../chain/rlp.ts'

/** What a receipt says; hex in lower case. */
export type ReceiptFacts = {
  hash: Hex
  block: { number: bigint; hash: Hex }
  succeeded: boolean
  /** Gas times price, in wei. */
  fee: bigint
  from: Hex
  to: Hex | null
  logs: readonly Log[]
}

/** What only the transaction itself says. */
export type TransactionFacts = {
  hash: Hex
  from: Hex
  to: Hex | null
  value: bigint
  nonce: bigint
}

export type BlockFacts = {
  number: bigint
  hash: Hex
  timeMs: number
  /** Undefined where only the header was asked for. */
  transactions: ReadonlyMap<Hex, TransactionFacts> | undefined
}

/** Everything a node says is read here once; a field that is not what it must be is an error. */
export function readReceipt(value: unknown): ReceiptFacts {
  const receipt = record(value, 'the receipt')
  return {
    hash: data(receipt['transactionHash'], 'transactionHash', 32),
    block: {
      number: quantity(receipt['blockNumber'], 'blockNumber'),
      hash: data(receipt['blockHash'], 'blockHash', 32),
    },
    succeeded: quantity(receipt['status'], 'status') === 1n,
    fee: feeOf(receipt),
    from: data(receipt['from'], 'from', 20),
    to: addressOrNull(receipt['to']),
    logs: array(receipt['logs'], 'logs').map(readLog),
  }
}

/** What the transaction of a receipt has cost, and no more; undefined where that is unreadable. */
export function readFee(value: unknown): bigint | undefined {
  try {
    return feeOf(record(value, 'the receipt'))
  } catch (error) {
    if (error instanceof BaseError) return undefined
    throw error
  }
}

export function readTransaction(value: unknown): TransactionFacts {
  const transaction = record(value, 'the transaction')
  return {
    hash: data(transaction['hash'], 'hash', 32),
    from: data(transaction['from'], 'from', 20),
    to: addressOrNull(transaction['to']),
    value: quantity(transaction['value'], 'value'),
    nonce: quantity(transaction['nonce'], 'nonce'),
  }
}

export function readBlock(value: unknown): BlockFacts {
  const block = record(value, 'the block')
  const list = array(block['transactions'], 'transactions')
  return {
    number: quantity(block['number'], 'number'),
    hash: data(block['hash'], 'hash', 32),
    timeMs: Number(quantity(block['timestamp'], 'timestamp')) * 1000,
    transactions: list.every((one) => typeof one === 'object')
      ? new Map(list.map(readTransaction).map((one) => [one.hash, one]))
      : undefined,
  }
}

function readLog(value: unknown): Log {
  const log = record(value, 'the log')
  return {
    address: data(log['address'], 'address', 20),
    topics: array(log['topics'], 'topics').map((topic) => data(topic, 'topic', 32)),
    data: data(log['data'], 'data'),
  }
}

function feeOf(receipt: Readonly<Record<string, unknown>>): bigint {
  return quantity(receipt['gasUsed'], 'gasUsed') * priceOf(receipt)
}

/** Nodes of chains without a fee market leave it out. */
function priceOf(receipt: Readonly<Record<string, unknown>>): bigint {
  const price = receipt['effectiveGasPrice']
  return price === undefined ? 0n : quantity(price, 'effectiveGasPrice')
}

function addressOrNull(value: unknown): Hex | null {
  return value === null || value === undefined ? null : data(value, 'to', 20)
}
