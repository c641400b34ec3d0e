import type { Address, Hash, Hex } from 'viem'
import { getAddress, isAddress } from 'viem/utils'

import { BaseError } from '../base/errors.ts'
import { parseQuantity } from './quantity.ts'

/** Something that one provider said, and which one. */
export type Seen<T> = { value: T; provider: string }

export type BlockRef = { number: bigint; hash: Hash; parentHash: Hash }

export type Receipt = {
  transactionHash: Hash
  transactionIndex: number
  blockHash: Hash
  blockNumber: bigint
  from: Address
  /** Absent where a contract was created. */
  to: Address | undefined
  status: 'success' | 'reverted'
  gasUsed: bigint
  effectiveGasPrice: bigint
  logs: readonly EventLog[]
}

export type EventLog = { address: Address; topics: readonly Hex[]; data: Hex; logIndex: number }

/** A log outside of its receipt, which says where it stands. */
export type MinedLog = EventLog & { transactionHash: Hash; blockHash: Hash; blockNumber: bigint }

type Json = Readonly<Record<string, unknown>>

/** Undefined for null, by which a node says that it knows no such block. */
export function parseBlock(answer: Seen<unknown>): BlockRef | undefined {
  if (answer.value === null) return undefined
  const read = readerOf(answer)
  return {
    number: read.quantity('number'),
    hash: read.hash('hash'),
    parentHash: read.hash('parentHash'),
  }
}

/** The hashes of a block's transactions, in their order. */
export function parseTransactionHashes(answer: Seen<unknown>): Hash[] {
  const read = readerOf(answer)
  return read
    .list('transactions')
    .map((hash) => readerOf({ ...answer, value: { hash } }).hash('hash'))
}

/** Undefined for null, by which a node says that it knows no such receipt: lag, or not mined. */
export function parseReceipt(answer: Seen<unknown>): Receipt | undefined {
  if (answer.value === null) return undefined
  const read = readerOf(answer)
  const status = read.quantity('status')
  if (status > 1n) throw new AnswerUnreadableError(answer.provider, 'status')
  return {
    transactionHash: read.hash('transactionHash'),
    transactionIndex: Number(read.quantity('transactionIndex')),
    blockHash: read.hash('blockHash'),
    blockNumber: read.quantity('blockNumber'),
    from: read.address('from'),
    to: read.isNull('to') ? undefined : read.address('to'),
    status: status === 1n ? 'success' : 'reverted',
    gasUsed: read.quantity('gasUsed'),
    effectiveGasPrice: read.quantity('effectiveGasPrice'),
    logs: read.list('logs').map((log) => parseLog({ ...answer, value: log })),
  }
}

/** A block's receipts, undefined for null. */
export function parseReceipts(answer: Seen<unknown>): Receipt[] | undefined {
  if (answer.value === null) return undefined
  const list = readerOf({ ...answer, value: { list: answer.value } }).list('list')
  return list.flatMap((value) => parseReceipt({ ...answer, value }) ?? [])
}

export function parseLogs(answer: Seen<unknown>): MinedLog[] {
  const list = readerOf({ ...answer, value: { logs: answer.value } }).list('logs')
  return list.map((value) => {
    const read = readerOf({ ...answer, value })
    return {
      ...readLog(read, answer.provider),
      transactionHash: read.hash('transactionHash'),
      blockHash: read.hash('blockHash'),
      blockNumber: read.quantity('blockNumber'),
    }
  })
}

function parseLog(answer: Seen<unknown>): EventLog {
  return readLog(readerOf(answer), answer.provider)
}

/** There are millions of them in a sweep. */
function readLog(read: ReturnType<typeof readerOf>, provider: string): EventLog {
  return {
    address: read.address('address'),
    topics: read.list('topics').map((topic) => hexOf(topic, HASH) ?? unreadable(provider, 'topic')),
    data: read.bytes('data'),
    logIndex: Number(read.quantity('logIndex')),
  }
}

const HASH = /^0x[0-9a-f]{64}$/i
const BYTES = /^0x[0-9a-f]*$/i
const ADDRESS = /^0x[0-9a-f]{40}$/i

function hexOf(value: unknown, pattern: RegExp): Hex | undefined {
  if (typeof value !== 'string' || value.length % 2 !== 0 || !pattern.test(value)) return undefined
  return value.toLowerCase() as Hex
}

function unreadable(provider: string, field: string): never {
  throw new AnswerUnreadableError(provider, field)
}

/** Every field is checked where it enters; behind this, types are trusted. */
function readerOf({ value, provider }: Seen<unknown>) {
  if (typeof value !== 'object' || value === null) {
    throw new AnswerUnreadableError(provider, 'an object')
  }
  const json = value as Json
  const textOf = (field: string, pattern: RegExp): Hex =>
    hexOf(json[field], pattern) ?? unreadable(provider, field)
  return {
    isNull: (field: string) => json[field] === null || json[field] === undefined,
    hash: (field: string) => textOf(field, HASH),
    bytes: (field: string) => textOf(field, BYTES),
    address(field: string): Address {
      const text = textOf(field, ADDRESS)
      if (isAddress(text)) return getAddress(text)
      throw new AnswerUnreadableError(provider, field)
    },
    quantity(field: string): bigint {
      const number = parseQuantity(json[field])
      if (number !== undefined) return number
      throw new AnswerUnreadableError(provider, field)
    },
    list(field: string): readonly unknown[] {
      const list = json[field]
      if (Array.isArray(list)) return list
      throw new AnswerUnreadableError(provider, field)
    },
  }
}

export class AnswerUnreadableError extends BaseError {
  constructor(provider: string, field: string) {
    super(`${provider} answered without a readable ${field}. Ask again, or use another provider.`, {
      code: 'chain_answer_unreadable',
      retryable: true,
      details: { provider, field },
    })
  }
}
