import { quantity, toQuantity, word } from '../answers.ts'
import type { Hex } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { askAgreed } from './agreed.ts'
import { holdingCall } from './token.ts'

/**
 * Reads what an address had at a block of one coin, the native one where no token is named, and how
 * many transactions it had signed. Rejects where providers differ, or no longer have that state.
 */
export type HoldingReader = (
  of: { address: Hex; token: Hex | ''; blockNumber: bigint },
  signal: AbortSignal,
) => Promise<{ blockNumber: bigint; nonce: bigint; balance: bigint }>

export function createHoldingReader(providers: Pick<Providers, 'askAll'>): HoldingReader {
  return async ({ address, token, blockNumber }, signal) => {
    const at = toQuantity(blockNumber)
    const held =
      token === ''
        ? { method: 'eth_getBalance', params: [address, at] }
        : { method: 'eth_call', params: [{ to: token, data: holdingCall(address) }, at] }
    const count = { method: 'eth_getTransactionCount', params: [address, at] }
    const [balance, nonce] = await Promise.all([
      askAgreed(providers, {
        call: { ...held, signal },
        read: (result) => (token === '' ? quantity(result, 'balance') : word(result, 'balance')),
      }),
      askAgreed(providers, {
        call: { ...count, signal },
        read: (result) => quantity(result, 'nonce'),
      }),
    ])
    return { blockNumber, nonce, balance }
  }
}
