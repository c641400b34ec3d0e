import type { Hex } from 'viem'
import { encodeFunctionData } from 'viem/utils'

import { referenceDollarAbi } from '../bindings/abis.ts'

/** What a holder sends to the token to burn its own money for an order. */
export function burnCalldata(burn: { amount: bigint; memo: Hex }): Hex {
  return encodeFunctionData({
    abi: referenceDollarAbi,
    functionName: 'burnWithMemo',
    args: [burn.amount, burn.memo],
  })
}
