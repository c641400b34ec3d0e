import { quantity, readFrom, toQuantity, word } from '../answers.ts'
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

type Asker = Pick<Providers, 'ask'>

/** In wei, as the best provider has it now. */
export async function readBalance(
  { ask }: Asker,
  { holder, signal }: { holder: Hex; signal: AbortSignal },
): Promise<bigint> {
  const { result, provider } = await ask({
    method: 'eth_getBalance',
    params: [holder, 'latest'],
    signal,
  })
  return readFrom({ value: result, provider }, (value) => quantity(value, 'balance'))
}

/** In the smallest unit of the token, as the best provider has it now. */
export async function readTokenBalance(
  { ask }: Asker,
  { token, holder, signal }: { token: Hex; holder: Hex; signal: AbortSignal },
): Promise<bigint> {
  const params = [{ to: token, data: holdingCall(holder) }, 'latest']
  const { result, provider } = await ask({ method: 'eth_call', params, signal })
  return readFrom({ value: result, provider }, (value) => word(value, 'balance'))
}
