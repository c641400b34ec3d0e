import {
  type AddressLike,
  type ContractTransactionReceipt,
  type Signer,
  Wallet,
  keccak256,
  resolveAddress,
} from 'ethers'

import { strangerAt } from './orders.ts'

/** A key of its own by each number. */
export function walletAt(index: number): Wallet {
  return new Wallet(keccak256(`0x${(1000 + index).toString(16).padStart(4, '0')}`))
}

/** Lets the account run the code of a contract (EIP-7702), or none again for the address zero. */
export async function delegate(
  account: Wallet,
  { to, by }: { to: AddressLike; by: Signer },
): Promise<void> {
  const authorization = await account.authorize({ address: await resolveAddress(to) })
  const sent = await by.sendTransaction({ to: strangerAt(0), authorizationList: [authorization] })
  await sent.wait()
}

export async function mined(
  sent: Promise<{ wait(): Promise<ContractTransactionReceipt | null> }>,
): Promise<ContractTransactionReceipt> {
  const receipt = await (await sent).wait()
  if (receipt === null) throw new Error('the transaction was not mined')
  return receipt
}
