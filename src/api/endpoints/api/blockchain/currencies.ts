import type { Unit } from '../../../../domain/money.ts'
import type { Hex } from '../../../../domain/orders.ts'
import { unitOf, type Token } from '../../../../domain/tokens.ts'
import { invalidRequest } from '../../../admission/checks.ts'

/** What is paid: in what its amounts count, and the token where it is one. */
export type PaidIn = { unit: Unit; token: Hex | undefined }

/** Of what a request names, or a refusal that lists what there is. */
export function readPaidIn(tokens: readonly Token[], currency = 'ETH'): PaidIn {
  const token = tokens.find((one) => one.currency === currency)
  if (token !== undefined) return { unit: unitOf(token), token: token.address }
  // Where the chain has no dollar, the sender says what to do.
  if (currency === 'ETH' || currency === 'USD') return { unit: { currency }, token: undefined }
  const known = ['ETH', ...tokens.map((one) => one.currency)].join(', ')
  const message = `${JSON.stringify(currency)} is not configured here. Use one of these: ${known}.`
  throw invalidRequest([{ field: 'currency', code: 'currency_unknown', message }])
}
