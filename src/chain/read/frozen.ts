import type { Hex } from '../../domain/orders.ts'
import { reasonOfFailure } from '../reverts.ts'
import type { RpcCall } from '../rpc/provider.ts'
import { isRevert } from '../rpc/rpc-error.ts'
import { selectorOf } from './events.ts'

/**
 * Whether the token has frozen the account, by what it answers to a transfer of nothing from the
 * account to itself. Undefined where it refuses that for another reason, as while it is paused.
 */
export async function readIsFrozen(
  request: (call: RpcCall) => Promise<unknown>,
  { token, account, signal }: { token: Hex; account: Hex; signal: AbortSignal },
): Promise<boolean | undefined> {
  const data = `${selectorOf('transfer(address,uint256)')}${word(account)}${word('0x0')}`
  const params = [{ from: account, to: token, data }, 'latest']
  try {
    await request({ method: 'eth_call', params, signal })
    return false
  } catch (error) {
    if (reasonOfFailure(error)?.code === 'account_frozen') return true
    if (isRevert(error)) return undefined
    throw error
  }
}

function word(value: Hex): string {
  return value.slice(2).padStart(64, '0')
}
