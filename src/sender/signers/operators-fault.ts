import { limits } from '../../base/limits.ts'
import { readFreeze } from '../../chain/read/token-state.ts'
import { reasonOfFailure } from '../../chain/reverts.ts'
import type { RpcCall } from '../../chain/rpc/provider.ts'
import type { Hex } from '../../domain/orders.ts'
import type { SignerAlertKind } from '../../domain/signers.ts'
import type { Db } from '../../store/database/database.ts'
import { openSignerAlert } from '../../store/orders/signers.ts'
import type { SenderContext } from '../context.ts'
import { OrderRefusedError } from '../refused.ts'

/** Prepares what one of the platform's own signers pays. */
export type OwnPayments = <T>(db: Db, signer: Hex, prepare: () => Promise<T>) => Promise<T>

/**
 * What the signer lacks is the operator's to mend: an alert opens for it, and the refusal no longer
 * says that it is the caller who lacks it.
 */
export function createOwnPayments(of: Pick<SenderContext, OwnGround>): OwnPayments {
  const { chainId, clock } = of
  return async (db, signer, prepare) => {
    try {
      return await prepare()
    } catch (error) {
      if (!(error instanceof OrderRefusedError)) throw error
      const fault = (await isFrozen(of, { error, signer })) ? FROZEN : FAULTS[error.code]
      if (fault === undefined) throw error
      const { alert: kind, code = error.code } = fault
      await openSignerAlert(db, { kind, chainId, signer }, clock.now())
      throw new OrderRefusedError(error.message, { code, cause: error })
    }
  }
}

type OwnGround = 'chainId' | 'clock' | 'providers' | 'stablecoin'

const FROZEN = { alert: 'signer_frozen', code: 'signer_frozen' } as const

/** Whether it is the signer whom the token has frozen. Not every token says of whom it speaks. */
async function isFrozen(
  { providers, stablecoin: token }: Pick<SenderContext, OwnGround>,
  { error, signer: account }: { error: OrderRefusedError; signer: Hex },
): Promise<boolean> {
  if (error.code !== 'simulation_failed' || token === undefined) return false
  if (reasonOfFailure(error.cause)?.code !== 'account_frozen') return false
  const signal = AbortSignal.timeout(limits.healthCheckMs)
  for (const provider of providers) {
    try {
      const ask = async (call: RpcCall) => {
        return { result: await provider.request(call), provider: provider.name }
      }
      return await readFreeze({ ask }, { token, account, signal })
    } catch {
      // The next one may know.
    }
  }
  return false
}

const FAULTS: Readonly<Record<string, { alert: SignerAlertKind; code?: string }>> = {
  insufficient_funds: { alert: 'signer_funds_low', code: 'signer_funds_low' },
  minter_missing: { alert: 'minter_missing' },
  mint_allowance_used_up: { alert: 'mint_allowance_used_up' },
  mint_allowance_exceeded: { alert: 'mint_allowance_exceeded' },
  payer_frozen: { alert: 'signer_frozen', code: 'signer_frozen' },
}
