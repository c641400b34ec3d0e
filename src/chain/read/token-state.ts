import type { Hex } from '../../domain/orders.ts'
import { readWord } from '../answers.ts'
import type { Providers } from '../rpc/providers.ts'
import { isRevert } from '../rpc/rpc-error.ts'
import { selectorOf } from './events.ts'

/** What may change while the program runs. */
export type TokenState = {
  /** Undefined where the token knows no pause. */
  isPaused: boolean | undefined
  /** Whether it has the functions of USDC: a frozen list, minters and a pause of its issuer. */
  isFiatToken: boolean
}

export async function readTokenState(
  { ask }: Pick<Providers, 'ask'>,
  { token, signal }: { token: Hex; signal: AbortSignal },
): Promise<TokenState> {
  const view = async (signature: string, account = ''): Promise<bigint | undefined> => {
    const data = `${selectorOf(signature)}${account}`
    try {
      const { result } = await ask({
        method: 'eth_call',
        params: [{ to: token, data }, 'latest'],
        signal,
      })
      return readWord(result)
    } catch (error) {
      if (isRevert(error)) return undefined
      throw error
    }
  }
  const nobody = '0'.repeat(64)
  const [paused, ...fiat] = await Promise.all([
    view('paused()'),
    view('isBlacklisted(address)', nobody),
    view('isMinter(address)', nobody),
    view('minterAllowance(address)', nobody),
  ])
  return {
    isPaused: paused === undefined ? undefined : paused !== 0n,
    isFiatToken: fiat.every((answer) => answer !== undefined),
  }
}
