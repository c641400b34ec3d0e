import type { Clock } from '../../base/clock.ts'
import type { Hex } from '../../domain/orders.ts'
import type { SignerAlertKind } from '../../domain/signers.ts'
import type { Db } from '../../store/database/database.ts'
import { openSignerAlert } from '../../store/orders/signers.ts'
import { OrderRefusedError } from '../refused.ts'

/** Prepares what one of the platform's own signers pays. */
export type OwnPayments = <T>(db: Db, signer: Hex, prepare: () => Promise<T>) => Promise<T>

/**
 * What the signer lacks is the operator's to mend: an alert opens for it, and the refusal no longer
 * says that it is the caller who lacks it.
 */
export function createOwnPayments(of: { chainId: number; clock: Clock }): OwnPayments {
  const { chainId, clock } = of
  return async (db, signer, prepare) => {
    try {
      return await prepare()
    } catch (error) {
      if (!(error instanceof OrderRefusedError)) throw error
      const fault = FAULTS[error.code]
      if (fault === undefined) throw error
      const { alert: kind, code = error.code } = fault
      await openSignerAlert(db, { kind, chainId, signer }, clock.now())
      throw new OrderRefusedError(error.message, { code, cause: error })
    }
  }
}

const FAULTS: Readonly<Record<string, { alert: SignerAlertKind; code?: string }>> = {
  insufficient_funds: { alert: 'signer_funds_low', code: 'signer_funds_low' },
  minter_missing: { alert: 'minter_missing' },
  mint_allowance_used_up: { alert: 'mint_allowance_used_up' },
  mint_allowance_exceeded: { alert: 'mint_allowance_exceeded' },
  payer_frozen: { alert: 'signer_frozen', code: 'signer_frozen' },
}
