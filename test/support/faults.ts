/** What happens to a whole HTTP request. */
export type LineFault =
  /** The connection ends before the node hears anything. */
  | 'refuse'
  | 'http_error'
  | 'html'
  | 'garbage'
  /** HTTP 429 with Retry-After. */
  | 'rate_limit'
  /** The node does the work, and the answer is never sent. */
  | 'swallow'
  /** The node does the work, and the connection ends instead of an answer. */
  | 'cut'
  /** The answer comes after `lateMs`. */
  | 'late'

/** What happens to one call, alone or in a batch. */
export type CallFault =
  | 'error'
  | 'null'
  /** JSON-RPC error -32005. */
  | 'limit_exceeded'
  /** The node is too poor to have the method. */
  | 'method_missing'
  /** The node does the work, and the answer is an error. */
  | 'error_after'
  /** The node hears the call twice, and answers the second time. */
  | 'duplicate'
  /** A raw transaction is answered with its hash and forgotten. */
  | 'drop'
  | Lie

export type Lie =
  /** Success for failure and the other way round. */
  | 'wrong_status'
  /** Another transaction's hash and no logs. */
  | 'wrong_receipt'
  /** A success in the newest block for a transaction that the node does not know as mined. */
  | 'invented_receipt'
  | 'wrong_block_hash'
  | 'wrong_chain_id'

export type FaultKind = LineFault | CallFault

/** How likely, from 0 to 1, and for which methods; for all of them when none is named. */
export type Chance =
  number | { chance: number; methods: readonly string[]; about?: ReadonlySet<string> }

export type FaultPlan = Partial<Record<FaultKind, Chance>> & {
  /** The node seems to be this many blocks behind. */
  lagBlocks?: number
  /** How late a `late` answer is; 50 by default. */
  lateMs?: number
  /** How long a `swallow` holds the connection; until the client gives up by default. */
  hangMs?: number
  /** What a `rate_limit` asks for; 1 by default. */
  retryAfterSeconds?: number
}

export const LINE_FAULTS: readonly LineFault[] = [
  'refuse',
  'http_error',
  'html',
  'garbage',
  'rate_limit',
  'swallow',
  'cut',
  'late',
]

export const CALL_FAULTS: readonly Exclude<CallFault, Lie>[] = [
  'error',
  'null',
  'limit_exceeded',
  'method_missing',
  'error_after',
  'duplicate',
  'drop',
]

export const LIES: readonly Lie[] = [
  'wrong_status',
  'wrong_receipt',
  'invented_receipt',
  'wrong_block_hash',
  'wrong_chain_id',
]

export type Json = { [key: string]: unknown }

/** Turns a true result into the lie; what it does not apply to is left alone. */
export function lie(kind: Lie, call: { method: string; params: readonly unknown[] }, truth: Truth) {
  const { result, newest, about } = truth
  const isReceipt = /Receipts?$/.test(call.method)
  switch (kind) {
    case 'wrong_status':
      return isReceipt ? mapObjects(result, only(about, flipStatus)) : result
    case 'wrong_receipt':
      return isReceipt ? mapObjects(result, only(about, otherReceipt)) : result
    case 'invented_receipt':
      return call.method === 'eth_getTransactionReceipt' && result === null
        ? invent(String(call.params[0]), newest)
        : result
    case 'wrong_block_hash':
      return mapObjects(result, only(about, otherBlock))
    case 'wrong_chain_id':
      return call.method === 'eth_chainId' ? '0x539' : result
    default:
      return kind satisfies never
  }
}

/** `about`: whose receipts may be lied about; of all when it is left out. */
export type Truth = { result: unknown; newest: Json; about?: ReadonlySet<string> | undefined }

function only(about: Truth['about'], change: (object: Json) => Json): (object: Json) => Json {
  if (about === undefined) return change
  return (object) => (about.has(String(object['transactionHash'])) ? change(object) : object)
}

function mapObjects(result: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(result)) return result.map((item) => mapObjects(item, change))
  return typeof result === 'object' && result !== null ? change(result as Json) : result
}

function flipStatus(receipt: Json): Json {
  return { ...receipt, status: receipt['status'] === '0x1' ? '0x0' : '0x1' }
}

function otherReceipt(receipt: Json): Json {
  return { ...receipt, transactionHash: flip(receipt['transactionHash']), logs: [] }
}

function otherBlock(object: Json): Json {
  const isBlock = 'parentHash' in object
  return isBlock
    ? { ...object, hash: flip(object['hash']) }
    : { ...object, ...('blockHash' in object && { blockHash: flip(object['blockHash']) }) }
}

function invent(transactionHash: string, newest: Json): Json {
  return {
    transactionHash,
    transactionIndex: '0x0',
    blockHash: newest['hash'],
    blockNumber: newest['number'],
    from: `0x${'11'.repeat(20)}`,
    to: `0x${'22'.repeat(20)}`,
    contractAddress: null,
    status: '0x1',
    type: '0x2',
    gasUsed: '0x5208',
    cumulativeGasUsed: '0x5208',
    effectiveGasPrice: '0x1',
    logs: [],
    logsBloom: `0x${'00'.repeat(256)}`,
  }
}

/** Another hash than the given one, and always the same. */
function flip(hash: unknown): unknown {
  if (typeof hash !== 'string') return hash
  return hash.slice(0, -1) + (Number.parseInt(hash.slice(-1), 16) ^ 1).toString(16)
}
