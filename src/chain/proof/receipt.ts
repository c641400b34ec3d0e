import { array, data, quantity, record, type Log } from '../answers.ts'
import type { Hex } from '../hex.ts'
import {
  bytesOf,
  decodeRlp,
  EncodingError,
  encodeRlp,
  listOf,
  numberBytes,
  numberOf,
  type RlpItem,
} from './rlp.ts'
import { typed, untyped } from './trie.ts'

/** What the chain said of an attempt, as far as the block's receipts root commits to it. */
export type Receipt = {
  type: number
  /** Undefined before 2017 (Byzantium), when receipts did not say. */
  succeeded: boolean | undefined
  cumulativeGasUsed: bigint
  logs: readonly Log[]
}

/** The bytes of a receipt, from how JSON-RPC shows it. */
export function encodeReceipt(value: unknown): Hex {
  const receipt = record(value, 'receipt')
  const type = receipt['type'] === undefined ? 0 : Number(quantity(receipt['type'], 'type'))
  if (type > 0x7f) throw new EncodingError(`a receipt of type ${type}`)
  const items: RlpItem[] = [
    outcomeOf(receipt),
    numberBytes(quantity(receipt['cumulativeGasUsed'], 'cumulativeGasUsed')),
    data(receipt['logsBloom'], 'logsBloom', 256),
    array(receipt['logs'], 'logs').map(encodeLog),
  ]
  if (type === DEPOSIT) {
    // Since Canyon a deposit's receipt has a version, and only then is its nonce hashed. Nodes show
    // the nonce of older ones too.
    const [nonce, version] = [receipt['depositNonce'], receipt['depositReceiptVersion']]
    if (version !== undefined && version !== null) {
      items.push(numberBytes(quantity(nonce, 'depositNonce')))
      items.push(numberBytes(quantity(version, 'depositReceiptVersion')))
    }
  }
  return typed(type, encodeRlp(items))
}

export function decodeReceipt(bytes: Hex): Receipt {
  const { type, payload } = untyped(bytes)
  const items = listOf(decodeRlp(payload))
  const [outcome, cumulativeGasUsed, bloom, logs] = items
  if (items.length !== 4 && type !== DEPOSIT) {
    throw new EncodingError(`a receipt of ${items.length} fields`)
  }
  bytesOf(bloom, 256)
  return {
    type,
    succeeded: succeededOf(bytesOf(outcome)),
    cumulativeGasUsed: numberOf(cumulativeGasUsed),
    logs: listOf(logs).map(decodeLog),
  }
}

const DEPOSIT = 0x7e

function outcomeOf(receipt: Readonly<Record<string, unknown>>): Hex {
  if (receipt['status'] === undefined) return data(receipt['root'], 'root', 32)
  return numberBytes(quantity(receipt['status'], 'status'))
}

function succeededOf(outcome: Hex): boolean | undefined {
  if (outcome === '0x01') return true
  if (outcome === '0x') return false
  bytesOf(outcome, 32)
  return undefined
}

function encodeLog(value: unknown): RlpItem {
  const log = record(value, 'log')
  return [
    data(log['address'], 'address', 20),
    array(log['topics'], 'topics').map((topic) => data(topic, 'topic', 32)),
    data(log['data'], 'data'),
  ]
}

function decodeLog(item: RlpItem): Log {
  const [address, topics, bytes] = listOf(item)
  return {
    address: bytesOf(address, 20),
    topics: listOf(topics).map((topic) => bytesOf(topic, 32)),
    data: bytesOf(bytes),
  }
}
