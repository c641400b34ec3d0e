import { AnswerError, type Log } from '../answers.ts'
import type { Hex } from '../hex.ts'
import { topicOf } from './events.ts'

/** What the settlement contract says was paid; all hex is in lower case. */
export type SettledPayment = {
  reference: Hex
  payer: Hex
  payee: Hex
  /** Undefined for the native coin. */
  token: Hex | undefined
  amount: bigint
}

export type Settled = SettledPayment & { logIndex: number }

/** A log as a node answered with it, of which nothing is known yet. */
export type RawLog = Readonly<Partial<Record<keyof Log, unknown>>>

/** As `readSettled`, of a log that was read before. */
export function decodeSettled(
  log: Log & { logIndex: number },
  settlement: Hex,
): Settled | undefined {
  const payment = readSettled(log, { contract: settlement.toLowerCase() as Hex })
  return payment && { ...payment, logIndex: log.logIndex }
}

/**
 * Undefined when the log is not this contract's `Settled`, to the last byte. An event of the same
 * form from another address proves nothing, since anybody can log one. A sweep reads millions of
 * them, so that each field is checked where it stands, and nothing is made that nobody asked for.
 */
export function readSettled(
  { address, topics, data }: RawLog,
  { contract, provider }: { contract: Hex; provider?: string },
): SettledPayment | undefined {
  if (typeof address !== 'string') throw new AnswerError('address', provider)
  if (!Array.isArray(topics)) throw new AnswerError('topics', provider)
  if (typeof data !== 'string') throw new AnswerError('data', provider)
  if (address !== contract && address.toLowerCase() !== contract) return undefined
  if (topics[0] !== SETTLED || topics.length !== 4 || data.length !== 2 + 2 * 64) return undefined
  const reference = readHash(topics[1])
  if (reference === undefined) throw new AnswerError('topics', provider)
  const [payer, payee] = [addressOf(topics[2]), addressOf(topics[3])]
  const token = addressOf(data.slice(0, 66))
  const amount = readHash(`0x${data.slice(66)}`)
  if (amount === undefined) throw new AnswerError('data', provider)
  if (payer === undefined || payee === undefined || token === undefined) return undefined
  const units = BigInt(amount)
  // The contract pays no nothing, and no row can hold it.
  if (units === 0n) return undefined
  return { reference, payer, payee, token: token === NO_TOKEN ? undefined : token, amount: units }
}

const SETTLED = topicOf('Settled')
const NO_TOKEN: Hex = `0x${'0'.repeat(40)}`
const WORD = /^0x[0-9a-f]{64}$/
const BEFORE_ADDRESS = `0x${'0'.repeat(24)}`
const ADDRESS = /^[0-9a-f]{40}$/

/** Nodes write lower case; the few that do not are asked to be read all the same. */
export function readHash(value: unknown): Hex | undefined {
  if (typeof value !== 'string') return undefined
  if (WORD.test(value)) return value as Hex
  const lower = value.toLowerCase()
  return WORD.test(lower) ? (lower as Hex) : undefined
}

/** Undefined where the word is not an address: the bytes before an address are zeros. */
function addressOf(value: unknown): Hex | undefined {
  if (typeof value !== 'string' || !value.startsWith(BEFORE_ADDRESS)) return undefined
  const address = value.slice(BEFORE_ADDRESS.length)
  if (ADDRESS.test(address)) return `0x${address}`
  const lower = address.toLowerCase()
  return ADDRESS.test(lower) ? `0x${lower}` : undefined
}
