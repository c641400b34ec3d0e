import { topicOf } from '../../chain/read/events.ts'
import { AnswerError, quantity, readFrom, type Seen } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import type { SettledLog } from '../../store/reconciliation/settled-logs.ts'

/**
 * The settlements among the logs that a node answered with. There are millions of them in a sweep,
 * so each is read straight into its row: every field is checked, and none is read that no row has.
 * Logs of another form, or of another contract, are passed over.
 */
export function readSettledLogs({ value, provider }: Seen<unknown>, contract: Hex): SettledLog[] {
  if (!Array.isArray(value)) throw new AnswerError('logs', provider)
  const logs: SettledLog[] = []
  let block: SettledLog['block'] | undefined
  let number: unknown
  for (const item of value as unknown[]) {
    const log = (item ?? {}) as RawLog
    const blockHash = wordOf(log.blockHash) ?? unreadable(provider, 'blockHash')
    // Most have the block of the one before them.
    if (block === undefined || number !== log.blockNumber || block.hash !== blockHash) {
      number = log.blockNumber
      block = { number: quantityOf(log, 'blockNumber', provider), hash: blockHash }
    }
    const hash = wordOf(log.transactionHash) ?? unreadable(provider, 'transactionHash')
    const logIndex = Number(quantityOf(log, 'logIndex', provider))
    const settled = settlementOf(log, { provider, contract })
    if (settled !== undefined) logs.push({ block, hash, logIndex, ...settled, own: undefined })
  }
  return logs
}

type RawLog = Readonly<{
  address?: unknown
  topics?: unknown
  data?: unknown
  blockNumber?: unknown
  blockHash?: unknown
  transactionHash?: unknown
  logIndex?: unknown
}>

function settlementOf(
  { address, topics, data }: RawLog,
  { provider, contract }: { provider: string; contract: Hex },
): Pick<SettledLog, 'reference' | 'payer' | 'payee' | 'token' | 'amount'> | undefined {
  if (typeof address !== 'string') return unreadable(provider, 'address')
  if (!Array.isArray(topics)) return unreadable(provider, 'topics')
  if (typeof data !== 'string') return unreadable(provider, 'data')
  if (address !== contract && address.toLowerCase() !== contract) return undefined
  if (topics[0] !== SETTLED || topics.length !== 4 || data.length !== 2 + 2 * 64) return undefined
  const reference = wordOf(topics[1]) ?? unreadable(provider, 'topics')
  const [payer, payee] = [addressOf(topics[2]), addressOf(topics[3])]
  const token = addressOf(data.slice(0, 66))
  const amount = BigInt(wordOf(`0x${data.slice(66)}`) ?? unreadable(provider, 'data'))
  if (payer === undefined || payee === undefined || token === undefined) return undefined
  // The contract pays no nothing, and no row can hold it.
  if (amount === 0n) return undefined
  return {
    reference,
    payer,
    payee,
    token: token === NO_TOKEN ? undefined : token,
    amount,
  }
}

const SETTLED = topicOf('Settled')
const NO_TOKEN: Hex = `0x${'0'.repeat(40)}`
const WORD = /^0x[0-9a-f]{64}$/
const BEFORE_ADDRESS = `0x${'0'.repeat(24)}`
const ADDRESS = /^[0-9a-f]{40}$/

/** Nodes write lower case; the few that do not are asked to be read all the same. */
function wordOf(value: unknown): Hex | undefined {
  if (typeof value !== 'string') return undefined
  if (WORD.test(value)) return value as Hex
  const lower = value.toLowerCase()
  return WORD.test(lower) ? (lower as Hex) : undefined
}

/** Undefined where the word is no address: the bytes before one are empty. */
function addressOf(value: unknown): Hex | undefined {
  if (typeof value !== 'string' || !value.startsWith(BEFORE_ADDRESS)) return undefined
  const address = value.slice(BEFORE_ADDRESS.length)
  if (ADDRESS.test(address)) return `0x${address}`
  const lower = address.toLowerCase()
  return ADDRESS.test(lower) ? `0x${lower}` : undefined
}

function quantityOf(log: RawLog, field: 'blockNumber' | 'logIndex', provider: string): bigint {
  return readFrom({ value: log[field], provider }, (value) => quantity(value, field))
}

function unreadable(provider: string, field: string): never {
  throw new AnswerError(field, provider)
}
