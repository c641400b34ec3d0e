import type { Hex } from 'viem'

import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import type { Row } from '../../fixtures/books/reconcile.ts'
import { calls, type PaidChain } from '../../fixtures/books/verify.ts'

export type Settlement = { hash: Hex; reference: Hex; payee: Hex }

const BATCH = 400
const PER_BLOCK = 200
const AMOUNT = 5n

/** Settlements of a small amount each, many in one transaction. */
export async function settleMany(world: PaidChain, count: number): Promise<Settlement[]> {
  const all: Settlement[] = []
  for (let from = 0; from < count; from += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => ({
      reference: referenceOf(from + at + 1),
      payee: world.payee,
    }))
    const data = calls.settleBatch(
      items.map(({ reference }) => reference),
      items.map(({ payee }) => payee),
      items.map(() => AMOUNT),
    )
    const call = { to: world.settlement, data, value: AMOUNT * BigInt(items.length) }
    const hash = await world.send({ ...call, gas: '0xf00000' })
    all.push(...items.map((item) => ({ ...item, hash })))
  }
  return all
}

/** Plain transfers, many in a block. */
export async function transferMany(world: PaidChain, count: number): Promise<Hex[]> {
  const ask = (method: string, ...params: unknown[]) =>
    callRpc({ url: world.chain.url, method, params, timeoutMs: 60_000 })
  await ask('evm_setAutomine', false)
  const hashes: Hex[] = []
  for (let at = 0; at < count; at += 1) {
    hashes.push(await world.send({ to: world.payee, value: 1n, gas: '0x5208' }))
    if (at % PER_BLOCK === PER_BLOCK - 1) await ask('anvil_mine', '0x1')
  }
  await ask('anvil_mine', '0x1')
  await ask('evm_setAutomine', true)
  return hashes
}

/** The record of a settlement that says all that can be held against the chain. */
export function settledRow(id: string, { hash, reference, payee }: Settlement): Row {
  const amount = '0.000000000000000005'
  return { ...bareRow(id, hash), to_address: payee, amount, reference, status: 'completed' }
}

export function bareRow(id: string, hash: Hex): Row {
  return { transaction_id: id, eth_transaction_hash: hash }
}

function referenceOf(index: number): Hex {
  return `0x${index.toString(16).padStart(64, '0')}`
}
