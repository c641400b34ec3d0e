import { codeOf } from '../../base/errors.ts'
import type { Quorum } from '../../chain/quorum.ts'
import { readIsFrozen } from '../../chain/read/frozen.ts'
import { reasonOfFailure, type Reason } from '../../chain/reverts.ts'
import type { Hex } from '../../domain/orders.ts'
import { firstAnswer } from '../estimate.ts'
import { refused, type OrderRefusedError } from '../refused.ts'

/**
 * The refusal where the token has frozen who pays, and not the payee. Asked only of a payment that
 * fails because somebody is frozen: USDC does not say who.
 */
export async function payerFrozen(
  quorum: Quorum,
  { error, token, payer }: { error: unknown; token: Hex | undefined; payer: Hex },
): Promise<OrderRefusedError | undefined> {
  if (token === undefined || !isOfFrozen(error)) return undefined
  const account = reasonOf(error)?.account
  const isFrozen =
    account === undefined
      ? await firstAnswer(quorum, (provider, signal) =>
          readIsFrozen((call) => provider.request(call), { token, account: payer, signal }),
        ).catch(() => undefined)
      : account.toLowerCase() === payer
  if (isFrozen !== true) return undefined
  return refused(
    'payer_frozen',
    `The token has frozen ${payer}, the address that pays. Nothing was sent. Only the issuer of the token can unfreeze it.`,
  )
}

/** Whether a simulation has failed because the token has frozen somebody. */
export function isOfFrozen(error: unknown): boolean {
  return codeOf(error) === 'simulation_failed' && reasonOf(error)?.code === 'account_frozen'
}

function reasonOf(error: unknown): Reason | undefined {
  return reasonOfFailure(error instanceof Error ? error.cause : undefined)
}
