import type { Address, Hash, Hex } from 'viem'
import { getAddress, isAddress } from 'viem/utils'

import { BaseError } from '../base/errors.ts'
import { parseQuantity } from './quantity.ts'

/** Something that one provider said, and which one. */
export type Seen<T> = { value: T; provider: string }

export type EventLog = { address: Address; topics: readonly Hex[]; data: Hex; logIndex: number }

/** A log outside of its receipt, which says where it stands. */
export type MinedLog = EventLog & { transactionHash: Hash; blockHash: Hash; blockNumber: bigint }

type Json = Readonly<Record<string, unknown>>

/** Undefined for null, by which a node says that it knows no such block. */
export function parseBlockNumber(answer: Seen<unknown>): bigint | undefined {
  return answer.value === null ? undefined : readerOf(answer).quantity('number')
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
