import { encodeFunctionData, maxUint256, type Abi, type Hex } from 'viem'

import { referenceDollarAbi } from '../../src/bindings/abis.ts'
import { referenceDollar } from '../../src/chain/deployables.ts'
import { calls, reference, type PaidChain } from './verify.ts'

/**
 * A token with the code and the symbol of the dollar, of which the payer makes as much as it likes
 * and lets the settlement contract take it.
 */
export async function deployWorthless(world: PaidChain): Promise<Hex> {
  const { chain, payer, settlement, send } = world
  const { initCode } = referenceDollar(payer)
  const hash = await send({ data: initCode, gas: '0xe4e1c0' })
  const { contractAddress } = await chain.client.getTransactionReceipt({ hash })
  if (!contractAddress) throw new Error('the token was not made')
  const token: Hex = `0x${contractAddress.slice(2).toLowerCase()}`
  const amount = 10n ** 12n
  const act = (functionName: string, args: readonly unknown[]) =>
    send({ to: token, data: encodeDollar(functionName, args) })
  await act('configureMinter', [payer, amount])
  const memo = reference(9_000)
  await send({ to: token, data: calls.dollar('mintWithMemo', { to: payer, amount, memo }) })
  await act('approve', [settlement, maxUint256])
  return token
}

export function encodeDollar(functionName: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: ANY_CALL, functionName, args })
}

const ANY_CALL: Abi = referenceDollarAbi
