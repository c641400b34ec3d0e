import type { Hex } from '../../domain/orders.ts'
import { quantity, readFrom, word } from '../answers.ts'
import type { Providers } from '../rpc/providers.ts'
import { holdingCall } from './token.ts'

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
