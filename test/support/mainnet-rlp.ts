import { readFileSync } from 'node:fs'

import { Transaction, decodeRlp, encodeRlp } from 'ethers'
import { keccak256, type Hex } from 'viem'

import { startNode, type ScriptedNode } from './scripted-node.ts'

/** A real block of 301 transactions of all five types, as the chain encodes it. */
export type RealBlock = {
  hash: Hex
  header: Hex
  transactions: readonly RealTransaction[]
  receipts: readonly ShownReceipt[]
  /** As a node shows it, with its transactions or with their hashes alone. */
  shown: (transactions: 'whole' | 'hashes') => Shown
}

/** What another library reads from the bytes, beside how a node shows them. */
export type RealTransaction = { raw: Hex; hash: Hex; from: Hex; type: number; shown: Shown }

export type ShownReceipt = Shown & { status: Hex; logs: ShownLog[] }
export type ShownLog = Shown & { address: Hex; topics: Hex[]; data: Hex }

type Shown = Record<string, unknown>
type Item = Hex | Item[]

export function readRealBlock(): RealBlock {
  const text = readFileSync('test/data/mainnet-block-22869878/block.yaml', 'utf8')
  const part = (name: string) => new RegExp(`^${name}: (0x[0-9a-f]+)$`, 'm').exec(text)?.[1] as Hex
  const header = part('header')
  const hash = keccak256(header)
  const head = named(HEADER, decodeRlp(header) as Hex[])
  const [items] = decodeRlp(part('body')) as [Item[]]
  const at = { blockHash: hash, blockNumber: head['number'] }
  const transactions = items.map((item, index) => readTransaction(item, { ...at, index }))
  const all = decodeRlp(part('receipts')) as ReceiptItem[]
  const receipts = all.map((item, index) =>
    showReceipt(item, { before: all[index - 1], transaction: transactions[index] }),
  )
  return {
    hash,
    header,
    transactions,
    receipts,
    shown: (form) => ({
      ...head,
      hash,
      uncles: [],
      transactions: transactions.map(({ shown, hash }) => (form === 'whole' ? shown : hash)),
    }),
  }
}

/** A node of mainnet whose newest block it is, and that keeps no state. */
export function startMainnetNode(block: RealBlock): Promise<ScriptedNode> {
  const whole = block.shown('whole')
  const short = block.shown('hashes')
  return startNode(1, ({ method, params: [at] }) => {
    const isIt = at === 'latest' || at === short['number'] || at === block.hash
    if (method === 'eth_getBlockByNumber') return isIt ? short : null
    if (method === 'eth_getBlockByHash') return isIt ? whole : null
    if (method === 'eth_getBlockReceipts') return isIt ? block.receipts : null
    if (method === 'eth_getTransactionByHash') {
      return block.transactions.find(({ hash }) => hash === at)?.shown ?? null
    }
    throw new Error('missing trie node')
  })
}

type Place = { blockHash: Hex; blockNumber: unknown; index: number }

function readTransaction(item: Item, { index, ...block }: Place): RealTransaction {
  const raw = typeof item === 'string' ? item : (encodeRlp(item) as Hex)
  const read = Transaction.from(raw)
  const [hash, from] = [read.hash, read.from?.toLowerCase()] as [Hex, Hex]
  const type = read.type ?? 0
  const payload = type === 0 ? raw : `0x${raw.slice(4)}`
  const fields = named(TRANSACTION[type] as string[], decodeRlp(payload) as Item[])
  const place = { ...block, transactionIndex: quantityOf(BigInt(index)) }
  const shown = { ...fields, type: quantityOf(BigInt(type)), hash, from, ...place }
  return { raw, hash, from, type, shown }
}

type LogItem = [address: Hex, topics: Hex[], data: Hex]
type ReceiptItem = [type: Hex, status: Hex, cumulativeGasUsed: Hex, logs: LogItem[]]

function showReceipt(
  [, status, gas, logs]: ReceiptItem,
  at: { before: ReceiptItem | undefined; transaction: RealTransaction | undefined },
): ShownReceipt {
  const shown: Shown = at.transaction?.shown ?? {}
  const { hash, type, blockHash, blockNumber, transactionIndex, from, to } = shown
  const place = { blockHash, blockNumber, transactionHash: hash, transactionIndex }
  return {
    ...place,
    type,
    from,
    to,
    status: numberOf(status),
    cumulativeGasUsed: numberOf(gas),
    gasUsed: quantityOf(BigInt(gas) - BigInt(at.before?.[2] ?? 0)),
    logsBloom: bloomOf(logs),
    logs: logs.map(([address, topics, data]) => ({ ...place, address, topics, data })),
  }
}

/** Three bits of 2,048 for each address and topic, by the first six bytes of its hash. */
function bloomOf(logs: readonly LogItem[]): Hex {
  const bytes = Buffer.alloc(256)
  for (const entry of logs.flatMap(([address, topics]) => [address, ...topics])) {
    const hash = Buffer.from(keccak256(entry).slice(2), 'hex')
    for (const at of [0, 2, 4]) {
      const bit = hash.readUInt16BE(at) % 2048
      const place = 255 - (bit >> 3)
      bytes[place] = (bytes[place] ?? 0) | (1 << (bit & 7))
    }
  }
  return `0x${bytes.toString('hex')}`
}

/** The fields by their names in JSON-RPC; a # stands before a number. */
function named(names: readonly string[], items: readonly Item[]): Shown {
  return Object.fromEntries(names.map((name, at) => [name.replace('#', ''), show(name, items[at])]))
}

function show(name: string, item: Item | undefined): unknown {
  if (name.startsWith('#')) return numberOf(item as Hex)
  if (name === 'to') return item === '0x' ? null : item
  if (name === 'authorizationList') {
    return (item as Hex[][]).map((one) => named(AUTHORIZATION, one))
  }
  if (name !== 'accessList') return item
  return (item as [Hex, Hex[]][]).map(([address, storageKeys]) => ({ address, storageKeys }))
}

/** A node writes a number without leading zeros. */
function numberOf(item: Hex): Hex {
  return quantityOf(item === '0x' ? 0n : BigInt(item))
}

function quantityOf(value: bigint): Hex {
  return `0x${value.toString(16)}`
}

const CALL = ['#gas', 'to', '#value', 'input']
const SIGNED = ['#v', '#r', '#s']
const FEES = ['#maxPriorityFeePerGas', '#maxFeePerGas']
const DYNAMIC = ['#chainId', '#nonce', ...FEES, ...CALL, 'accessList']
const AUTHORIZATION = ['#chainId', 'address', '#nonce', '#yParity', '#r', '#s']
/** By type. */
const TRANSACTION: readonly string[][] = [
  ['#nonce', '#gasPrice', ...CALL, ...SIGNED],
  ['#chainId', '#nonce', '#gasPrice', ...CALL, 'accessList', ...SIGNED],
  [...DYNAMIC, ...SIGNED],
  [...DYNAMIC, '#maxFeePerBlobGas', 'blobVersionedHashes', ...SIGNED],
  [...DYNAMIC, 'authorizationList', ...SIGNED],
]
const HEADER: readonly string[] = [
  'parentHash',
  'sha3Uncles',
  'miner',
  'stateRoot',
  'transactionsRoot',
  'receiptsRoot',
  'logsBloom',
  '#difficulty',
  '#number',
  '#gasLimit',
  '#gasUsed',
  '#timestamp',
  'extraData',
  'mixHash',
  'nonce',
  '#baseFeePerGas',
  'withdrawalsRoot',
  '#blobGasUsed',
  '#excessBlobGas',
  'parentBeaconBlockRoot',
  'requestsHash',
]
