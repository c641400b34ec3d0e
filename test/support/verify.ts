import { encodeFunctionData, keccak256, type Hex } from 'viem'

import { referenceDollarAbi, settlementAbi } from '../../src/bindings/abis.ts'
import { plainProvider } from '../../src/chain/plain-provider.ts'
import type { Provider } from '../../src/chain/provider.ts'
import { startChain, type TestChain } from './anvil.ts'
import { account, deployerOn, forgetfulRecords } from './deployment.ts'

export type PaidChain = {
  chain: TestChain
  settlement: Hex
  dollar: Hex
  payer: Hex
  payee: Hex
  /** Sends from the payer, or from another of the test accounts, and mines it. */
  send: (call: Call) => Promise<Hex>
  mine: (blocks: number) => Promise<void>
  node: (name: string) => Provider
}

export type Call = { to?: Hex; data?: Hex; value?: bigint; from?: Hex; [field: string]: unknown }

export const CHAIN_ID = 31_337

/** A real node with both contracts, whose payer may mint. */
export async function startPaidChain(): Promise<PaidChain> {
  const chain = await startChain()
  const payer = account(0).address
  const minter = { address: payer, allowance: 10n ** 12n }
  const deployer = deployerOn(chain, { records: forgetfulRecords, minter })
  const { addresses } = await deployer.execute()
  const node = (name: string): Provider => ({ ...plainProvider(chain.url), name })
  const raw = node('setup')
  const ask = (method: string, ...params: unknown[]) => raw.request({ method, params })
  return {
    chain,
    settlement: lower(addresses.Settlement),
    dollar: lower(addresses.ReferenceDollar),
    payer: lower(payer),
    payee: lower(account(3).address),
    node,
    mine: async (blocks) => void (await ask('anvil_mine', `0x${blocks.toString(16)}`)),
    send: async ({ value, ...call }) => {
      const amount = value === undefined ? {} : { value: `0x${value.toString(16)}` }
      const request = { from: payer, gas: '0x4c4b40', ...call, ...amount }
      // By the client of the tests, which waits until it is mined.
      const sending = { method: 'eth_sendTransaction', params: [request] }
      const hash: unknown = await chain.client.request(sending as never)
      return hash as Hex
    },
  }
}

export type Taken = { ghost: Hex; by: Hex; from: Hex }

/** Signs two transactions of one nonce and sends the second. */
export async function takeNonce(world: PaidChain): Promise<Taken> {
  const signer = account(5)
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  const base = { type: 'eip1559', chainId: CHAIN_ID, nonce: 0, gas: 21_000n, ...fees } as const
  const ghost = await signer.signTransaction({ ...base, to: world.payee, value: 1n })
  const raw = await signer.signTransaction({ ...base, to: world.payee, value: 2n })
  const by = await world.chain.client.sendRawTransaction({ serializedTransaction: raw })
  return { ghost: keccak256(ghost), by, from: signer.address }
}

export function reference(number: number): Hex {
  return `0x${'ab'.repeat(30)}${number.toString(16).padStart(4, '0')}`
}

export const calls = {
  settle: (orderReference: Hex, payee: Hex): Hex =>
    encodeFunctionData({
      abi: settlementAbi,
      functionName: 'settle',
      args: [orderReference, payee],
    }),
  settleBatch: (orderReferences: Hex[], payees: Hex[], amounts: bigint[]): Hex =>
    encodeFunctionData({
      abi: settlementAbi,
      functionName: 'settleBatch',
      args: [orderReferences, payees, amounts],
    }),
  dollar: (
    functionName: 'mintWithMemo' | 'transferWithMemo',
    args: { to: Hex; amount: bigint; memo: Hex },
  ): Hex =>
    encodeFunctionData({
      abi: referenceDollarAbi,
      functionName,
      args: [args.to, args.amount, args.memo],
    }),
  burn: (amount: bigint, memo: Hex): Hex =>
    encodeFunctionData({
      abi: referenceDollarAbi,
      functionName: 'burnWithMemo',
      args: [amount, memo],
    }),
}

/** Answers of one method, changed on their way; everything else passes. */
export type Lie = (call: { method: string; params: readonly unknown[] }, answer: unknown) => unknown

export function lying(honest: Provider, lie: Lie): Provider {
  return {
    name: 'liar',
    request: async (call) =>
      lie({ params: [], ...call }, structuredClone(await honest.request(call))),
  }
}

function lower(address: string): Hex {
  return address.toLowerCase() as Hex
}
