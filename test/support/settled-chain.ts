import { serializeTransaction } from 'viem'

import { settlement as settlementCode } from '../../src/chain/deployables.ts'
import type { Hex } from '../../src/chain/hex.ts'
import { callRpc, callRpcBatch, type RpcItem } from '../../src/chain/rpc.ts'
import { startChain, type TestChain } from './anvil.ts'
import { calls } from './verify.ts'

/** A real node with many settlements, each in a transaction of its own, and what paid directly. */
export type SettledChain = {
  chain: TestChain
  settlement: Hex
  payer: Hex
  payee: Hex
  /** The blocks that the settlements are in. */
  first: number
  last: number
}

export type Settled = {
  reference: Hex
  nonce: number
  hash: Hex
  raw: Hex
  block: { number: number; hash: Hex }
  gas: { used: Hex; price: Hex }
}

const SETTLEMENT: Hex = `0x${'5e'.repeat(20)}`
const AMOUNT = '0x5'
const GAS = '0x186a0'
const TIMEOUT_MS = 120_000
const MAX_ANSWER_BYTES = 1024 ** 3

/** The contract's own code, at an address where nothing had to be deployed. */
export async function startSettledChain(): Promise<SettledChain> {
  const chain = await startChain('--no-mining', '--gas-limit', '1000000000')
  const ask = asking(chain.url)
  await ask('anvil_setCode', SETTLEMENT, settlementCode().runtime.code)
  const [payer, payee] = (await ask('eth_accounts')) as [Hex, Hex]
  const last = Number(await ask('eth_blockNumber'))
  return { chain, settlement: SETTLEMENT, payer, payee, first: last + 1, last }
}

export type Filling = { count: number; perBlock: number; onFilled: (count: number) => void }

/** Settles under references that follow each other, as those of our own sender do. */
export async function fillSettlements(
  world: SettledChain,
  { count, perBlock, onFilled }: Filling,
): Promise<SettledChain> {
  const { chain, settlement: to, payer: from, payee } = world
  const ask = asking(chain.url)
  const nonce = Number(await ask('eth_getTransactionCount', from, 'latest'))
  const first = Number(await ask('eth_blockNumber')) + 1
  const fees = { maxFeePerGas: hex(10 ** 10), maxPriorityFeePerGas: '0x1' }
  for (let at = 0; at < count; at += perBlock) {
    const items = Array.from({ length: Math.min(perBlock, count - at) }, (_, offset) => {
      const index = at + offset
      const data = calls.settle(referenceOf(index), payee)
      const call = { from, to, data, value: AMOUNT, gas: GAS, nonce: hex(nonce + index), ...fees }
      return { method: 'eth_sendTransaction', params: [call] }
    })
    await askAll(chain.url, items)
    await ask('anvil_mine', '0x1')
    onFilled(at + items.length)
  }
  return { ...world, first, last: Number(await ask('eth_blockNumber')) }
}

/** Makes what was filled in final for whoever waits for so many confirmations. */
export async function confirm({ chain }: SettledChain, blocks: number): Promise<void> {
  await asking(chain.url)('anvil_mine', hex(blocks))
}

/** What each block of the settlements has, in their order. */
export async function* readSettled(world: SettledChain): AsyncGenerator<Settled[]> {
  const ask = asking(world.chain.url)
  const read = (number: number) =>
    Promise.all([
      ask('eth_getBlockReceipts', hex(number)) as Promise<RawReceipt[]>,
      ask('eth_getBlockByNumber', hex(number), true) as Promise<{ transactions: RawSigned[] }>,
    ])
  let index = 0
  for (let from = world.first; from <= world.last; from += BLOCKS_AT_ONCE) {
    const length = Math.min(BLOCKS_AT_ONCE, world.last - from + 1)
    const numbers = Array.from({ length }, (_, at) => from + at)
    const blocks = await Promise.all(numbers.map(read))
    for (const [at, [receipts, { transactions }]] of blocks.entries()) {
      const block = index
      yield receipts.map((receipt, place) => ({
        reference: referenceOf(block + place),
        nonce: block + place,
        hash: receipt.transactionHash,
        raw: rawOf(transactions[place]!),
        block: { number: from + at, hash: receipt.blockHash },
        gas: { used: receipt.gasUsed, price: receipt.effectiveGasPrice },
      }))
      index += receipts.length
    }
  }
}

const BLOCKS_AT_ONCE = 8

type RawSigned = Record<
  'to' | 'value' | 'nonce' | 'gas' | 'input' | 'r' | 's' | 'yParity' | 'chainId',
  Hex
> & { maxFeePerGas: Hex; maxPriorityFeePerGas: Hex }

/** The bytes that were signed, of what the node tells of them. */
function rawOf(told: RawSigned): Hex {
  const { to, input: data, r, s } = told
  return serializeTransaction(
    {
      type: 'eip1559',
      chainId: Number(told.chainId),
      nonce: Number(told.nonce),
      maxFeePerGas: BigInt(told.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(told.maxPriorityFeePerGas),
      gas: BigInt(told.gas),
      value: BigInt(told.value),
      to,
      data,
    },
    { r, s, yParity: Number(told.yParity) },
  )
}

type RawReceipt = {
  transactionHash: Hex
  blockHash: Hex
  gasUsed: Hex
  effectiveGasPrice: Hex
}

function asking(url: string) {
  return (method: string, ...params: unknown[]) =>
    callRpc({ url, method, params, timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES })
}

async function askAll(url: string, items: readonly RpcItem[]): Promise<unknown[]> {
  const outcomes = await callRpcBatch({ url, timeoutMs: TIMEOUT_MS }, items)
  return outcomes.map((outcome) => {
    if (outcome.ok) return outcome.result
    throw outcome.error
  })
}

function referenceOf(index: number): Hex {
  return `0x${'ab'.repeat(24)}${(index + 256).toString(16).padStart(16, '0')}`
}

function hex(number: number): Hex {
  return `0x${number.toString(16)}`
}
