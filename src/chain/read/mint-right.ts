import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils'

import { referenceDollarAbi } from '../../bindings/abis.ts'
import type { Hex } from '../../domain/orders.ts'
import type { MintRight } from '../../domain/signers.ts'

/**
 * Asks the token by calls what it lets the address mint, as a ReferenceDollar or as USDC. Rejects
 * where it answers neither way.
 */
export async function readMintRight(
  call: (data: Hex) => Promise<Hex>,
  minter: Hex,
): Promise<MintRight> {
  const [allowance, isMinter] = await Promise.all([
    call(encodeFunctionData({ abi: TOKEN, functionName: 'minterAllowance', args: [minter] })),
    isMinterOf(call, minter),
  ])
  return {
    allowance: decodeFunctionResult({
      abi: TOKEN,
      functionName: 'minterAllowance',
      data: allowance,
    }),
    isMinter,
  }
}

async function isMinterOf(call: (data: Hex) => Promise<Hex>, minter: Hex): Promise<boolean> {
  try {
    const data = await call(
      encodeFunctionData({ abi: referenceDollarAbi, functionName: 'minters' }),
    )
    const list = decodeFunctionResult({ abi: referenceDollarAbi, functionName: 'minters', data })
    return list.some((one) => one.toLowerCase() === minter)
  } catch {
    const data = await call(
      encodeFunctionData({ abi: TOKEN, functionName: 'isMinter', args: [minter] }),
    )
    return decodeFunctionResult({ abi: TOKEN, functionName: 'isMinter', data })
  }
}

/** What both kinds of token share, and what USDC says in place of a list. */
const TOKEN = parseAbi([
  'function minterAllowance(address minter) view returns (uint256)',
  'function isMinter(address account) view returns (bool)',
])
