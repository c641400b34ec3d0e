import { keccak256, parseSignature, stringToHex } from 'viem'
import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts'

import { settlementAddress } from '../../../src/bindings/addresses.ts'
import { selectorOf } from '../../../src/chain/read/events.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { referenceDollar, settlement } from '../../../src/deploy/deployables.ts'
import { grantCall } from '../../../src/deploy/minter.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import type { SignTransaction, SignTyped } from '../../../src/sender/sign.ts'

/** The chain itself, past every provider: what it says is the truth. */
export type World = {
  chainId: number
  url: string
  rpc: (method: string, params?: readonly unknown[]) => Promise<unknown>
  mine: (blocks: number) => Promise<void>
  head: () => Promise<number>
  balanceOf: (address: Hex) => Promise<bigint>
  nonceOf: (address: Hex) => Promise<bigint>
}

export type SimSigners = {
  addresses: Hex[]
  sign: SignTransaction
  signTyped: SignTyped
}

/** The chain id of every anvil that is not given another. */
export const CHAIN_ID = 31_337

/** How deep a block of a run has to be. No reorg of a run goes deeper. */
export const CONFIRMATIONS = 10

/** When each run begins, by its chain and by its clock. */
export const START = new Date(Date.UTC(2026, 0, 1))

export function createWorld(url: string, chainId = CHAIN_ID): World {
  const rpc: World['rpc'] = (method, params = []) => callRpc({ url, method, params })
  return {
    chainId,
    url,
    rpc,
    async mine(blocks) {
      for (let block = 0; block < blocks; block++) await rpc('evm_mine')
    },
    head: async () => Number(await rpc('eth_blockNumber')),
    balanceOf: async (address) => BigInt(String(await rpc('eth_getBalance', [address, 'latest']))),
    nonceOf: async (address) =>
      BigInt(String(await rpc('eth_getTransactionCount', [address, 'latest']))),
  }
}

/** Puts the settlement contract at its address without a deployment, which takes too long. */
export async function placeSettlement({ rpc }: World): Promise<void> {
  await rpc('anvil_setCode', [settlementAddress, settlement().runtime.code])
}

/** A ReferenceDollar whose admin is the node's first account and whose only minter is named. */
export async function placeDollar(
  world: World,
  { minter, allowance }: { minter: Hex; allowance: bigint },
): Promise<Hex> {
  const [admin] = (await world.rpc('eth_accounts')) as [Hex]
  const send = async (call: { to?: Hex; data: Hex }) => {
    const hash = await world.rpc('eth_sendTransaction', [{ from: admin, gas: '0x989680', ...call }])
    await world.mine(1)
    return (await world.rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: Hex }
  }
  const { contractAddress } = await send({ data: referenceDollar(admin).initCode })
  await send(grantCall({ token: contractAddress, minter, allowance }))
  return contractAddress.toLowerCase() as Hex
}

/** Calls the dollar as its admin, who may pause and freeze from now on. */
export async function adminOf(world: World, dollar: Hex) {
  const [admin] = (await world.rpc('eth_accounts')) as [Hex]
  const as = async (signature: string, ...words: string[]): Promise<void> => {
    const data =
      selectorOf(signature) + words.map((word) => word.slice(2).padStart(64, '0')).join('')
    await world.rpc('eth_sendTransaction', [{ from: admin, to: dollar, data }])
    await world.mine(1)
  }
  for (const role of ['PAUSER_ROLE', 'FREEZER_ROLE']) {
    await as('grantRole(bytes32,address)', keccak256(stringToHex(role)), admin)
  }
  return as
}

/** Accounts that no other run has, with money. */
export async function createSigners(
  { rpc }: World,
  { seed, count }: { seed: string; count: number },
): Promise<SimSigners> {
  const accounts = new Map<Hex, PrivateKeyAccount>()
  for (let index = 0; index < count; index++) {
    const account = privateKeyToAccount(keccak256(stringToHex(`signer ${seed} ${index}`)))
    accounts.set(account.address.toLowerCase() as Hex, account)
    await rpc('anvil_setBalance', [account.address, toHex(1_000n * ETHER)])
  }
  return {
    addresses: [...accounts.keys()],
    sign: (signer, transaction) => signAs(accounts.get(signer), transaction),
    async signTyped(signer, payload) {
      const signature = await accounts.get(signer)!.sign({ hash: keccak256(payload) })
      const { r, s, yParity } = parseSignature(signature)
      return { r, s, yParity }
    },
  }
}

/** An address that nobody else has. */
export function addressFrom(text: string): Hex {
  return `0x${keccak256(stringToHex(text)).slice(26)}`
}

export const ETHER = 10n ** 18n
export const GWEI = 10n ** 9n

export function toHex(number: bigint | number): Hex {
  return `0x${number.toString(16)}`
}

async function signAs(
  account: PrivateKeyAccount | undefined,
  transaction: Parameters<SignTransaction>[1],
): Promise<Hex> {
  if (account === undefined) throw new TypeError('the run has no such signer')
  const { chainId, nonce, to, value, data, gas, fees } = transaction
  const call = { to, value, data, gas, ...fees }
  return account.signTransaction({ type: 'eip1559', chainId, nonce: Number(nonce), ...call })
}
