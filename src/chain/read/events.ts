import { keccak256, stringToBytes } from 'viem/utils'

import { ImpossibleError } from '../../base/errors.ts'
import type { Log } from '../answers.ts'
import type { Hex } from '../hex.ts'

/** A log that has exactly the form of an event that we know. */
export type DecodedEvent = {
  name: EventName
  /** The contract that logged it: anyone can log anything, so this is half of the meaning. */
  address: Hex
  /** By the parameter's name; addresses, hashes and memos in lower-case hex. */
  args: Readonly<Record<string, Hex | bigint>>
}

export type EventName = keyof typeof SIGNATURES

/** Every event that verification reads. `#` marks what is indexed, so a topic and no data. */
const SIGNATURES = {
  Transfer: 'Transfer(address #from, address #to, uint256 amount)',
  TransferWithMemo:
    'TransferWithMemo(address #from, address #to, uint256 amount, bytes32 #reference)',
  Settled:
    'Settled(bytes32 #reference, address #payer, address #payee, address token, uint256 amount)',
  SettlementFailed:
    'SettlementFailed(bytes32 #reference, address #payer, address #payee, uint256 amount, bytes4 reason)',
  Mint: 'Mint(address #minter, address #to, uint256 amount)',
  Burn: 'Burn(address #burner, uint256 amount)',
  SupplyIncreased: 'SupplyIncreased(address #to, uint256 amount)',
  SupplyDecreased: 'SupplyDecreased(address #from, uint256 amount)',
  FrozenAddressWiped: 'FrozenAddressWiped(address #wiped)',
  BurnBlocked: 'BurnBlocked(address #wiped, uint256 amount)',
  Issue: 'Issue(uint256 amount)',
  Redeem: 'Redeem(uint256 amount)',
  AuthorizationUsed: 'AuthorizationUsed(address #authorizer, bytes32 #reference)',
  TransferReference: 'TransferReference(bytes32 #reference)',
  TransferWithReference:
    'TransferWithReference(address token, address to, uint256 amount, bytes #reference)',
  TransferWithReferenceAndFee:
    'TransferWithReferenceAndFee(address token, address to, uint256 amount, bytes #reference, uint256 feeAmount, address feeAddress)',
} as const

/** The first topic of an event's logs. */
export function topicOf(name: EventName): Hex {
  const event = EVENTS.get(name)
  if (event === undefined) throw new ImpossibleError(`${name} is not a known event`)
  return event.topic
}

/** The event of a log, or undefined for a log of any other form. */
export function decodeEvent(log: Log): DecodedEvent | undefined {
  const event = BY_TOPIC.get(log.topics[0] ?? '0x')
  if (event === undefined) return undefined
  const topics = log.topics.slice(1)
  const words = wordsOf(log.data)
  const indexed = event.parameters.filter((parameter) => parameter.isIndexed)
  const plain = event.parameters.filter((parameter) => !parameter.isIndexed)
  if (topics.length !== indexed.length || words?.length !== plain.length) return undefined
  const pairs = [
    ...indexed.map((parameter, at) => ({ parameter, word: topics[at] ?? '0x' })),
    ...plain.map((parameter, at) => ({ parameter, word: words[at] ?? '0x' })),
  ]
  const args: Record<string, Hex | bigint> = {}
  for (const { parameter, word } of pairs) {
    const value = valueOf(parameter.type, word)
    if (value === undefined) return undefined
    args[parameter.name] = value
  }
  return { name: event.name, address: log.address, args }
}

/** The four bytes that call a function, of its signature such as `paused()`. */
export function selectorOf(signature: string): Hex {
  return keccak256(stringToBytes(signature)).slice(0, 10) as Hex
}

type Parameter = { type: string; name: string; isIndexed: boolean }
type Event = { name: EventName; topic: Hex; parameters: readonly Parameter[] }

const EVENTS: ReadonlyMap<EventName, Event> = new Map(
  Object.entries(SIGNATURES).map(([name, text]) => [
    name as EventName,
    parse(name as EventName, text),
  ]),
)

const BY_TOPIC: ReadonlyMap<string, Event> = new Map(
  [...EVENTS.values()].map((event) => [event.topic, event]),
)

function parse(name: EventName, text: string): Event {
  const parameters = text
    .slice(name.length + 1, -1)
    .split(', ')
    .map((part) => {
      const [type = '', label = ''] = part.split(' ')
      return { type, name: label.replace('#', ''), isIndexed: label.startsWith('#') }
    })
  const types = parameters.map(({ type }) => type).join(',')
  return { name, parameters, topic: keccak256(stringToBytes(`${name}(${types})`)) }
}

const WORD_DIGITS = 64

function wordsOf(data: Hex): Hex[] | undefined {
  const digits = data.slice(2)
  if (digits.length % WORD_DIGITS !== 0) return undefined
  const words: Hex[] = []
  for (let at = 0; at < digits.length; at += WORD_DIGITS) {
    words.push(`0x${digits.slice(at, at + WORD_DIGITS)}`)
  }
  return words
}

const ADDRESS_PADDING = `0x${'0'.repeat(24)}`

function valueOf(type: string, word: Hex): Hex | bigint | undefined {
  if (type === 'uint256') return BigInt(word)
  // Of dynamic types, a topic holds the hash.
  if (type !== 'address') return word
  return word.startsWith(ADDRESS_PADDING) ? `0x${word.slice(26)}` : undefined
}
