import { BaseError } from '../../../src/base/errors.ts'
import type { RpcCall, Provider } from '../../../src/chain/rpc/provider.ts'
import type { Random } from '../../fixtures/random.ts'
import type { Faults } from './life.ts'

/** How likely each is at one question. */
export type FaultRates = {
  /** The call never arrives. */
  error: number
  /** The call arrives, and the answer is lost. */
  lost: number
  /** The call arrives twice. */
  twice: number
  /** An earlier answer to the same question comes now. */
  late: number
  /** The answer is made up. */
  lie: number
}

export type FaultyOptions = {
  name: string
  forward: (method: string, params: readonly unknown[]) => Promise<unknown>
  draw: (key: string) => Random
  faults: Faults
  rates: FaultRates
  /** Whether it is behind the others, and what it shows of blocks that a reorg took. */
  isLagging?: boolean
  shows?: 'receipts' | 'all'
}

/** Stands between the sender and the chain; what it does wrong follows from the seed. */
export function createFaultyProvider(options: FaultyOptions): Provider {
  const { name, draw, rates, faults, shows } = options
  const earlier = new Map<string, unknown>()
  return {
    name,
    async request(call) {
      const key = `${name}/${call.method}/${JSON.stringify(call.params ?? [])}`
      const random = draw(key)
      const happens = (kind: keyof FaultRates) => random.chance(rates[kind]) && faults.may(kind)
      if (faults.isLiarAlone && rates.lie === 0) throw lineFailure(name)
      if (faults.isLiarAlone) return lieAboutOutcome(await answerOf(options, call))
      if (happens('error')) throw lineFailure(name)
      if (happens('twice')) await answerOf(options, call).catch(() => undefined)
      const answer = await answerOf(options, call)
      if (happens('lost')) throw lineFailure(name)
      if (call.method === 'eth_sendRawTransaction') return answer
      const old = shows && faults.fork?.answer(call, shows)
      if (old !== undefined && faults.may('stale')) return old.is
      if (happens('lie')) return lieAbout(call.method, answer, random)
      const isLate = earlier.has(key) && happens('late')
      const given = isLate ? earlier.get(key) : answer
      earlier.set(key, answer)
      return given
    },
  }
}

/** A node that lags knows the chain up to its own head, and is right about all of that. */
async function answerOf(
  { forward, faults, isLagging = false }: FaultyOptions,
  call: RpcCall,
): Promise<unknown> {
  const { method, params = [] } = call
  const behind = isLagging ? faults.lag : 0
  if (behind === 0 || !READS.has(method) || !faults.may('lag')) return forward(method, params)
  const head = Number(await forward('eth_blockNumber', [])) - behind
  const isBeyond = (number: unknown): boolean => Number(number) > head
  switch (method) {
    case 'eth_blockNumber':
      return toHex(head)
    case 'eth_getTransactionReceipt': {
      const receipt = (await forward(method, params)) as { blockNumber: string } | null
      return receipt !== null && isBeyond(receipt.blockNumber) ? null : receipt
    }
    case 'eth_getBlockByNumber': {
      const at = params[0] === 'latest' ? toHex(head) : params[0]
      return isBeyond(at) ? null : forward(method, [at, params[1]])
    }
    case 'eth_getLogs': {
      const filter = params[0] as { fromBlock: string; toBlock: string }
      if (isBeyond(filter.fromBlock)) return []
      const toBlock = isBeyond(filter.toBlock) ? toHex(head) : filter.toBlock
      return forward(method, [{ ...filter, toBlock }])
    }
    default: {
      const at = params[1] === 'latest' || isBeyond(params[1]) ? toHex(head) : params[1]
      return forward(method, [params[0], at])
    }
  }
}

const READS: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_getTransactionReceipt',
  'eth_getBlockByNumber',
  'eth_getTransactionCount',
  'eth_getLogs',
  'eth_call',
])

/** Wrong receipts, statuses, hashes, heights and nonces, and the denial of what is there. */
function lieAbout(method: string, answer: unknown, random: Random): unknown {
  const other = `0x${'5eed'.repeat(16)}`
  const number = toHex(random.below(1000))
  if (method === 'eth_call') return `0x${number.slice(2).padStart(64, '0')}`
  if (typeof answer === 'string') return method === 'eth_getCode' ? '0x00' : number
  if (typeof answer !== 'object' || answer === null) return answer
  if (Array.isArray(answer)) return lieAboutLogs(answer, random)
  const facts = answer as Record<string, unknown>
  const lies: Record<string, unknown>[] = [
    { ...facts, hash: other, blockHash: other },
    { ...facts, status: facts['status'] === '0x1' ? '0x0' : '0x1' },
    { ...facts, number, blockNumber: number },
    { ...facts, logs: [], transactions: [] },
    // A head that is near enough to be believed.
    { ...facts, number: toHex(Number(facts['number'] ?? 0) + random.below(12)) },
  ]
  return random.chance(0.3) ? null : random.pick(lies)
}

/** What was paid has failed, and the other way round; all else is as it is. */
function lieAboutOutcome(answer: unknown): unknown {
  const isReceipt = typeof answer === 'object' && answer !== null && 'status' in answer
  if (!isReceipt) return answer
  return { ...answer, status: answer.status === '0x1' ? '0x0' : '0x1', logs: [] }
}

/** Fewer than there are, or some with another amount. */
function lieAboutLogs(logs: readonly unknown[], random: Random): unknown[] {
  const amount = `0x${random.below(1000).toString(16).padStart(64, '0')}`
  const others = logs.map((log) => ({ ...(log as object), data: amount }))
  return random.pick([[], logs.slice(1), others, [...logs, ...logs]])
}

function toHex(number: number): string {
  return `0x${Math.max(0, number).toString(16)}`
}

function lineFailure(name: string): BaseError {
  return new BaseError(`${name} did not answer.`, { code: 'rpc_unreachable', retryable: true })
}
