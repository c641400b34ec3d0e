import { BaseError } from '../../base/errors.ts'
import { RequestError, type FailureCode } from '../../wire/errors.ts'

/** What the caller gets for a refusal of the sender, and which field of the request it is about. */
export type Refusal = { failure: FailureCode; field?: string; groupA?: number }

export type Refusals = Readonly<Record<string, Refusal>>

/** It is nobody's fault and passes by itself. */
export const later: Refusal = { failure: 'unavailable' }

/** The platform lacks what only its operator can supply; an alert is open for it. */
export const operators: Refusal = { failure: 'operator_needed' }

/** Of every operation by which money leaves. */
export const LIMIT_REFUSALS: Refusals = {
  limit_per_transaction: { failure: 'limit_exceeded', field: 'amount' },
  limit_per_day: { failure: 'limit_exceeded', field: 'amount' },
  limit_per_payee: { failure: 'limit_exceeded', field: 'amount' },
}

/** Those that mean the same in every operation that pays; each adds its own, which come first. */
export const SENDER_REFUSALS: Refusals = {
  ...LIMIT_REFUSALS,
  signature_wrong: { failure: 'upstream_failed' },
  signer_missing: { failure: 'upstream_failed' },
  signer_changed: { failure: 'upstream_failed' },
  signer_funds_low: operators,
  minter_missing: { ...operators, groupA: 2005 },
  mint_allowance_used_up: { ...operators, groupA: 2005 },
  mint_allowance_exceeded: { failure: 'limit_exceeded', field: 'amount' },
  signer_frozen: { ...operators, groupA: 2005 },
  payer_frozen: { failure: 'payment_would_fail' },
  chain_unreachable: later,
  token_paused: later,
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

/** What the caller is answered for an error: a refusal that the operation knows, or the error. */
export function answerTo(error: unknown, refusals: Refusals | undefined): unknown {
  if (refusals === undefined) return error
  if (!(error instanceof BaseError) || error instanceof RequestError) return error
  const { message, code, retryable } = error
  const refusal = refusals[code] ?? (code.startsWith('rpc_') ? later : undefined)
  if (refusal === undefined) return error
  const { failure, field, groupA } = refusal
  return new RequestError(failure, message, {
    cause: error,
    retryable,
    ...(groupA !== undefined && { groupA }),
    ...(field !== undefined && { problems: [{ field, code, message }] }),
    ...(WAITS[failure] !== undefined && { headers: { 'retry-after': WAITS[failure] } }),
  })
}

/** After how many seconds it may be worth another try. */
const WAITS: Readonly<Partial<Record<FailureCode, string>>> = {
  unavailable: '1',
  operator_needed: '60',
}
