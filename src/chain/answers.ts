import { isHex } from 'viem/utils'

import { BaseError } from '../base/errors.ts'
import type { Hex } from './hex.ts'

/** Something that one provider said, and which one. */
export type FromProvider<T> = { value: T; provider: string }

/** Hex is in lower case in all of these. */
export type Log = { address: Hex; topics: readonly Hex[]; data: Hex }

/** A log outside of its receipt, which says where it stands. */
export type MinedLog = Log & {
  logIndex: number
  transactionHash: Hex
  blockHash: Hex
  blockNumber: bigint
}

export type MinedReceipt = {
  hash: Hex
  block: { number: bigint; hash: Hex }
  succeeded: boolean
  gasUsed: bigint
  /** In wei for each unit of gas. */
  gasPrice: bigint
  /** What a rollup charges in addition to the gas, in wei. */
  rollupFee: bigint
  from: Hex
  to: Hex | null
  logs: readonly Log[]
}

/** A transaction as a node shows it, with what no receipt says. */
export type ShownTransaction = {
  hash: Hex
  from: Hex
  to: Hex | null
  value: bigint
  nonce: bigint
  input: Hex
}

export type Block = {
  number: bigint
  hash: Hex
  timeMs: number
  hashes: readonly Hex[]
  /** Undefined where the block was asked for without them. */
  transactions: ReadonlyMap<Hex, ShownTransaction> | undefined
}

/*
 * Everything that a node answers is read here. What is not as it must be is an AnswerError, and
 * behind these functions types are trusted.
 */

export function readBlock(value: unknown): Block {
  const block = record(value, 'block')
  const list = array(block['transactions'], 'transactions')
  const isFull = list.every((one) => typeof one === 'object')
  const transactions = isFull ? list.map(readTransaction) : undefined
  return {
    number: quantity(block['number'], 'number'),
    hash: data(block['hash'], 'hash', 32),
    timeMs: Number(quantity(block['timestamp'], 'timestamp')) * 1000,
    hashes: transactions?.map(({ hash }) => hash) ?? list.map((one) => data(one, 'hash', 32)),
    transactions: transactions && new Map(transactions.map((one) => [one.hash, one])),
  }
}

/** Undefined for null, by which a node says that it knows no such block. */
export function readBlockNumber(value: unknown): bigint | undefined {
  return value === null ? undefined : quantity(record(value, 'block')['number'], 'number')
}

export function readTransaction(value: unknown): ShownTransaction {
  const transaction = record(value, 'transaction')
  return {
    hash: data(transaction['hash'], 'hash', 32),
    from: data(transaction['from'], 'from', 20),
    to: addressOrNull(transaction['to']),
    value: quantity(transaction['value'], 'value'),
    nonce: quantity(transaction['nonce'], 'nonce'),
    input: data(transaction['input'], 'input'),
  }
}

export function readReceipt(value: unknown): MinedReceipt {
  const receipt = record(value, 'receipt')
  return {
    hash: data(receipt['transactionHash'], 'transactionHash', 32),
    block: {
      number: quantity(receipt['blockNumber'], 'blockNumber'),
      hash: data(receipt['blockHash'], 'blockHash', 32),
    },
    succeeded: quantity(receipt['status'], 'status') === 1n,
    ...gasOf(receipt),
    from: data(receipt['from'], 'from', 20),
    to: addressOrNull(receipt['to']),
    logs: array(receipt['logs'], 'logs').map(readLog),
  }
}

export type GasFacts = Pick<MinedReceipt, 'gasUsed' | 'gasPrice' | 'rollupFee'>

/** What the transaction of a receipt has cost, in wei. */
export function feeOf({ gasUsed, gasPrice, rollupFee }: GasFacts): bigint {
  return gasUsed * gasPrice + rollupFee
}

/** The fee alone, without the logs that most of a receipt is. */
export function readFee(value: unknown): bigint {
  return feeOf(gasOf(record(value, 'receipt')))
}

export function readLogs(value: unknown): MinedLog[] {
  return array(value, 'logs').map((item) => {
    const log = record(item, 'log')
    return {
      ...readLog(log),
      logIndex: Number(quantity(log['logIndex'], 'logIndex')),
      transactionHash: data(log['transactionHash'], 'transactionHash', 32),
      blockHash: data(log['blockHash'], 'blockHash', 32),
      blockNumber: quantity(log['blockNumber'], 'blockNumber'),
    }
  })
}

/** Names the provider in the error, for answers that are read where it is known. */
export function readFrom<T>(
  { value, provider }: FromProvider<unknown>,
  read: (value: unknown) => T,
): T {
  try {
    return read(value)
  } catch (error) {
    throw error instanceof AnswerError ? new AnswerError(error.field, provider) : error
  }
}

function readLog(value: unknown): Log {
  const log = record(value, 'log')
  return {
    address: data(log['address'], 'address', 20),
    topics: array(log['topics'], 'topics').map((topic) => data(topic, 'topic', 32)),
    data: data(log['data'], 'data'),
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Nodes of chains without a fee market leave the price out. */
function gasOf(receipt: Fields): GasFacts {
  const gasUsed = quantity(receipt['gasUsed'], 'gasUsed')
  const gasPrice = quantityOr0(receipt, 'effectiveGasPrice')
  return { gasUsed, gasPrice, rollupFee: rollupFeeOf(receipt, gasUsed) }
}

/**
 * The OP stack charges for the data on L1 and, since Isthmus, an operator fee. Since Jovian, whose
 * receipts have a footprint scalar, the operator fee has other units. Arbitrum includes its L1 part
 * in the gas (`gasUsedForL1` within `gasUsed`), so it charges no separate fee.
 */
function rollupFeeOf(receipt: Fields, gasUsed: bigint): bigint {
  if (quantityOr0(receipt, 'type') === DEPOSIT) return 0n
  const scaled = gasUsed * quantityOr0(receipt, 'operatorFeeScalar')
  const isJovian = isTold(receipt['daFootprintGasScalar'])
  const operatorFee = isJovian ? scaled * 100n : scaled / 1_000_000n
  return quantityOr0(receipt, 'l1Fee') + operatorFee + quantityOr0(receipt, 'operatorFeeConstant')
}

/** The type of a transaction that L1 has paid for; anvil writes it as `0x7E`. */
const DEPOSIT = 0x7en

function quantityOr0(fields: Fields, name: string): bigint {
  const value = fields[name]
  return isTold(value) ? quantity(value, name) : 0n
}

/** Nodes that serve several kinds of chains say null for what another kind has. */
function isTold(value: unknown): boolean {
  return value !== undefined && value !== null
}

function addressOrNull(value: unknown): Hex | null {
  return value === null || value === undefined ? null : data(value, 'to', 20)
}

/** A number from 0 to 2^256 - 1. Some nodes pad it with zeros. */
export function quantity(value: unknown, field: string): bigint {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) return BigInt(value)
  throw new AnswerError(field)
}

/** The number in the one word that a view answers with. */
export function word(value: unknown, field: string): bigint {
  const number = readWord(value)
  if (number === undefined) throw new AnswerError(field)
  return number
}

/** Like `word`, but undefined for any other value, since a contract may answer anything. */
export function readWord(value: unknown): bigint | undefined {
  const isWord = typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)
  return isWord ? BigInt(value) : undefined
}

/** Bytes, in lower case, of any length or of this one. */
export function data(value: unknown, field: string, length?: number): Hex {
  const isData = typeof value === 'string' && isHex(value) && value.length % 2 === 0
  if (!isData || (length !== undefined && value.length !== 2 + 2 * length)) {
    throw new AnswerError(field)
  }
  return value.toLowerCase() as Hex
}

export function record(value: unknown, field: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new AnswerError(field)
}

export function array(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[]
  throw new AnswerError(field)
}

/** As JSON-RPC writes a number. */
export function toQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}

/** A node answered something that no node of a chain answers. */
export class AnswerError extends BaseError {
  override readonly name = 'AnswerError'
  readonly field: string

  constructor(field: string, provider = 'A provider') {
    super(`${provider} answered without a readable ${field}. Ask again, or use another provider.`, {
      code: 'chain_answer_unreadable',
      retryable: true,
      details: { provider, field },
    })
    this.field = field
  }
}
