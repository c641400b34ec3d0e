import type { AddressLike, BaseContract, ContractTransactionResponse } from 'ethers'

type Sent = Promise<ContractTransactionResponse>

/** The two yardsticks, MappingPayments and EventPayments. */
export type Payments = BaseContract & {
  pay(orderReference: string, payee: string, overrides: { value: bigint }): Sent
}

export type UsdcShape = BaseContract & {
  initialize(owner: AddressLike): Sent
  configureMinter(minter: AddressLike, amount: bigint): Sent
  mint(to: AddressLike, amount: bigint): Sent
  approve(spender: AddressLike, amount: bigint): Sent
  transfer(to: AddressLike, amount: bigint): Sent
  balanceOf(account: AddressLike): Promise<bigint>
  nonces(owner: AddressLike): Promise<bigint>
}
