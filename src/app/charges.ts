import type { ChainConfig } from '../base/chains/config.ts'
import { BaseError } from '../base/errors.ts'
import { DEFAULT_FEE_POLICY, ROLLUP_FEE_POLICY, type FeePolicy } from '../chain/read/fees.ts'
import { findRollupFee, type ReadRollupFee } from '../chain/read/rollup-fee.ts'
import type { Providers } from '../chain/rpc/providers.ts'

/** How a chain charges for a transaction. */
export type Charges = {
  feePolicy: FeePolicy
  /** What it charges in addition to the gas. Undefined where that is nothing. */
  readRollupFee: ReadRollupFee | undefined
}

/** As the settings or the name of the chain say; where neither does, as the chain itself shows. */
export async function chargesOf(
  providers: Pick<Providers, 'ask'>,
  { stack, name }: Pick<ChainConfig, 'stack' | 'name'>,
  signal: AbortSignal,
): Promise<Charges> {
  const isAsked = stack === undefined || stack === 'op'
  const readRollupFee = isAsked ? await findRollupFee(providers, signal) : undefined
  if (stack === 'op' && readRollupFee === undefined) throw new WrongFeesError(name)
  const isRollup = readRollupFee !== undefined || stack === 'arbitrum'
  return { readRollupFee, feePolicy: isRollup ? ROLLUP_FEE_POLICY : DEFAULT_FEE_POLICY }
}

class WrongFeesError extends BaseError {
  constructor(name: string | undefined) {
    super(
      `The chain ${name} is set to charge as the OP stack does, but has no contract for the ` +
        'fee of L1. Correct `fees` in QUITTANCE_CHAINS.',
      { code: 'wrong_fees' },
    )
  }
}
