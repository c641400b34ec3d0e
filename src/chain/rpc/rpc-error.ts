import { BaseError, codeOf, messageOf } from '../../base/errors.ts'
import type { Hex } from '../hex.ts'

export type RpcErrorCode =
  /** The caller's signal ended the wait. */
  | 'rpc_aborted'
  | 'rpc_unreachable'
  | 'rpc_timeout'
  /** HTML, text or JSON that does not answer the question. */
  | 'rpc_garbage'
  | 'rpc_answer_too_large'
  | 'rpc_batch_too_large'
  | 'rpc_range_too_large'
  | 'rpc_rate_limited'
  | 'rpc_queue_full'
  | 'rpc_method_missing'
  | 'rpc_reverted'
  | 'rpc_refused'
  | 'rpc_wrong_chain'
  | 'rpc_no_provider'

/** What a provider did instead of giving a result; whatever it says, no fact about the chain. */
export class RpcError extends BaseError {
  override readonly name = 'RpcError'
  declare readonly code: RpcErrorCode
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs: number | undefined
  /** The data of a JSON-RPC error, which carries a contract's own error after a revert. */
  readonly data: unknown

  constructor(
    message: string,
    options: {
      code: RpcErrorCode
      details?: Readonly<Record<string, unknown>>
      retryAfterMs?: number | undefined
      data?: unknown
    },
  ) {
    super(message, {
      code: options.code,
      retryable: RETRYABLE.has(options.code),
      ...(options.details && { details: options.details }),
    })
    this.retryAfterMs = options.retryAfterMs
    this.data = options.data
  }
}

/** The same call may do better later, or at another provider. */
const RETRYABLE: ReadonlySet<RpcErrorCode> = new Set([
  'rpc_unreachable',
  'rpc_timeout',
  'rpc_garbage',
  'rpc_rate_limited',
  'rpc_queue_full',
  'rpc_no_provider',
])

/** A refusal is what a provider thinks of the call; everything else is a failure of the line. */
export function isRefusal(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'rpc_refused' || code === 'rpc_reverted'
}

/** Whether the call itself failed, in the words of any kind of node. */
export function isRevert(error: unknown): boolean {
  return isRefusal(error) && (codeOf(error) === 'rpc_reverted' || REVERT.test(messageOf(error)))
}

const REVERT = /revert|opcode|out of gas|execution/i

/** Every kind of node says it in its own words; all of them speak of funds or of the balance. */
export const NO_FUNDS = /\b(funds?|balance)\b/i

/** What a contract reverted with; undefined where the node keeps it to itself. */
export function revertDataOf(error: unknown): Hex | undefined {
  const told: unknown = error instanceof RpcError ? error.data : undefined
  // Some nodes wrap it once more, and some put a word before it.
  const inner: unknown = (told as { data?: unknown } | null | undefined)?.data ?? told
  const hex = typeof inner === 'string' ? /0x(?:[0-9a-f]{2})*$/i.exec(inner)?.[0] : undefined
  return hex?.toLowerCase() as Hex | undefined
}

/** The `error` of a JSON-RPC answer, of which providers fill in what they like. */
export type JsonRpcError = { code?: unknown; message?: unknown; data?: unknown }

/**
 * Names what a JSON-RPC error means. Unrelated faults share codes, so the words decide where they
 * are clear. A revert is recognised first, because a contract chooses its words.
 */
export function refusalOf(call: { provider: string; method: string }, error: JsonRpcError) {
  const text = typeof error.message === 'string' ? error.message : ''
  const code = codeOfRefusal({ method: call.method, rpcCode: error.code, text })
  return new RpcError(
    `${call.provider} refused ${call.method}: ${shorten(text || 'no reason')}. ${adviceOn(code)}`,
    {
      code,
      details: { provider: call.provider, method: call.method, rpcCode: error.code },
      data: error.data,
    },
  )
}

function codeOfRefusal(refusal: { method: string; rpcCode: unknown; text: string }): RpcErrorCode {
  const { method, rpcCode, text } = refusal
  if (rpcCode === 3 || /revert/i.test(text)) return 'rpc_reverted'
  if (method === 'eth_getLogs' && isAboutRange(text)) return 'rpc_range_too_large'
  if (BATCH_WORDS.test(text)) return 'rpc_batch_too_large'
  if (SIZE_WORDS.test(text)) return 'rpc_answer_too_large'
  if (rpcCode === -32_601 || rpcCode === -32_004 || MISSING_WORDS.test(text)) {
    return 'rpc_method_missing'
  }
  if (rpcCode === -32_005 || rpcCode === 429 || RATE_WORDS.test(text)) return 'rpc_rate_limited'
  return 'rpc_refused'
}

/**
 * Each provider has its own sentence for a query that takes in too much. What they share is a bound
 * and what it is a bound of; asked for less where it was about something else, nothing is lost.
 */
function isAboutRange(text: string): boolean {
  return BOUNDED_WORDS.test(text) && BOUND_WORDS.test(text) && !RATE_WORDS.test(text)
}

const BOUNDED_WORDS = /\b(range|blocks?|results|logs|size|query timeout|response)\b/i
const BOUND_WORDS = anyOf(
  /\bmax|limit|exceed|allowed|distance|too (large|big|wide|many)/,
  /more than|at most|(great|small)er than/,
)
const BATCH_WORDS = /batch.*(too (large|big|many)|limit|exceed|maximum|not (supported|allowed))/i
const SIZE_WORDS = /(response|result|answer).*too (large|big)|response size (exceed|limit)/i
const MISSING_WORDS = anyOf(
  /method .{0,60}(not found|not supported|not available|unsupported|does not exist|disabled)/,
  /(unknown|unsupported) method/,
)
const RATE_WORDS =
  /rate.?limit|too many requests|(throughput|capacity|compute units|quota).*exceed/i

function anyOf(...patterns: RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'i')
}

function adviceOn(code: RpcErrorCode): string {
  if (code === 'rpc_rate_limited') return 'Wait, or add a provider to ETH_RPC_URL.'
  if (code === 'rpc_method_missing') return 'Use a provider that has this method.'
  if (code === 'rpc_reverted') return 'The call would fail on the chain.'
  return 'Check the limits and the state of the provider.'
}

/** One line of bounded length, since it ends up in logs. */
function shorten(text: string): string {
  return (text.split('\n')[0] ?? '').replace(/\.$/, '').slice(0, MAX_REASON_LENGTH)
}

const MAX_REASON_LENGTH = 200
