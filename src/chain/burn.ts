import { encodeFunctionData } from 'viem/utils'

import { referenceDollarAbi } from '../bindings/abis.ts'
import type { Hex } from './hex.ts'

/** What a holder sends to the token to burn its own money for an order. */
export function burnCalldata(burn: { amount: bigint; memo: Hex }): Hex {
  return encodeFunctionData({
    abi: referenceDollarAbi,
    functionName: 'burnWithMemo',
    args: [burn.amount, burn.memo],
  })
}

/** What a holder sends to a token that has no memos, to give it back to its issuer. */
export function transferCalldata({ to, amount }: { to: Hex; amount: bigint }): Hex {
  return encodeFunctionData({
    abi: referenceDollarAbi,
    functionName: 'transfer',
    args: [to, amount],
  })
}
