import { encodeFunctionData, isAddressEqual, type Address, type Client, type Hex } from 'viem'
import { readContract } from 'viem/actions'

import { referenceDollarAbi } from '../bindings/abis.ts'
import { ask } from './errors.ts'

/** Who may mint how much of a ReferenceDollar, in its smallest unit. */
export type MinterGrant = { token: Address; minter: Address; allowance: bigint }

/** The most that the token keeps for one minter. */
export const MAX_ALLOWANCE = 2n ** 120n - 1n

/**
 * Whether the minter is one already, with whatever allowance its mints have left. Raising it again
 * is an act of the admin and no part of a deployment, which changes nothing when it is repeated.
 */
export async function hasGrant(client: Client, grant: MinterGrant): Promise<boolean> {
  const minters = await ask('who the minters are', () =>
    readContract(client, {
      address: grant.token,
      abi: referenceDollarAbi,
      functionName: 'minters',
    }),
  )
  return minters.some((minter) => isAddressEqual(minter, grant.minter))
}

export function grantCall({ token, minter, allowance }: MinterGrant): { to: Address; data: Hex } {
  const data = encodeFunctionData({
    abi: referenceDollarAbi,
    functionName: 'configureMinter',
    args: [minter, allowance],
  })
  return { to: token, data }
}

/** The one account that may grant, besides which every grant fails. */
export async function adminOf(client: Client, token: Address): Promise<Address> {
  return ask('who the admin of the token is', () =>
    readContract(client, { address: token, abi: referenceDollarAbi, functionName: 'defaultAdmin' }),
  )
}
