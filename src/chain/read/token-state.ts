import type { Hex } from '../../domain/orders.ts'
import { readWord } from '../answers.ts'
import type { Providers } from '../rpc/providers.ts'
import { isRevert } from '../rpc/rpc-error.ts'
import { selectorOf } from './events.ts'

/** Whether its issuer has paused the token now; undefined where it knows no pause. */
export async function readPause(
  { ask }: Pick<Providers, 'ask'>,
  { token, signal }: { token: Hex; signal: AbortSignal },
): Promise<boolean | undefined> {
  const paused = await view(ask, { token, data: selectorOf('paused()'), signal })
  return paused === undefined ? undefined : paused !== 0n
}

async function view(
  ask: Providers['ask'],
  { token, data, signal }: { token: Hex; data: Hex; signal: AbortSignal },
): Promise<bigint | undefined> {
  const params = [{ to: token, data }, 'latest']
  try {
    return readWord((await ask({ method: 'eth_call', params, signal })).result)
  } catch (error) {
    if (isRevert(error)) return undefined
    throw error
  }
}
