import { BaseError } from '../../base/errors.ts'
import { RequestError, type FailureCode } from '../../wire/errors.ts'

/** What the caller gets for a refusal of the sender, and which field of the request it is about. */
export type Refusal = { failure: FailureCode; field?: string; groupA?: number }

export type Refusals = Readonly<Record<string, Refusal>>

/** It is nobody's fault and passes by itself. */
export const later: Refusal = { failure: 'unavailable' }

/** Those that mean the same in every operation; each adds its own, which come first. */
const COMMON: Refusals = {
  limit_per_transaction: { failure: 'limit_exceeded', field: 'amount' },
  limit_per_day: { failure: 'limit_exceeded', field: 'amount' },
  limit_per_payee: { failure: 'limit_exceeded', field: 'amount' },
  signature_wrong: { failure: 'upstream_failed' },
  signer_missing: { failure: 'upstream_failed' },
  signer_changed: { failure: 'upstream_failed' },
  chain_unreachable: later,
  lane_full: later,
  lane_busy: later,
  lane_missing: later,
  lane_lost: later,
}

/** What the sender says when the payee cannot be paid at all. */
export function ofPayee(refusal: Refusal): Refusals {
  return {
    payee_invalid: refusal,
    payee_is_zero: refusal,
    payee_is_payer: refusal,
    payee_is_contract: refusal,
  }
}

/** Runs work and turns what the sender refuses into the answer that the caller gets. */
export function createAnswering(own: Refusals): <T>(work: () => Promise<T>) => Promise<T> {
  const refusals: Refusals = { ...COMMON, ...own }
  return async (work) => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof BaseError) || error instanceof RequestError) throw error
      const { code } = error
      const refusal = refusals[code] ?? (code.startsWith('rpc_') ? later : undefined)
      if (refusal === undefined) throw error
      throw refusalOf(error, refusal)
    }
  }
}

function refusalOf(error: BaseError, { failure, field, groupA }: Refusal): RequestError {
  const { message, code } = error
  return new RequestError(failure, message, {
    cause: error,
    retryable: error.retryable,
    ...(groupA !== undefined && { groupA }),
    ...(field !== undefined && { problems: [{ field, code, message }] }),
    ...(failure === 'unavailable' && { headers: { 'retry-after': '1' } }),
  })
}
