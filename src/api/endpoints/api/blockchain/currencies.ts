import type { ChainNames } from '../../../../domain/chains.ts'
import { unitOfCoin } from '../../../../domain/coins.ts'
import type { Unit } from '../../../../domain/money.ts'
import type { Hex } from '../../../../domain/orders.ts'
import { unitOf, type Token } from '../../../../domain/tokens.ts'
import { invalidRequest } from '../../../admission/checks.ts'

/** What is paid: in what its amounts count, and the token where it is one. */
export type PaidIn = { unit: Unit; token: Hex | undefined; isCoin: boolean }

type PayingChain = Pick<ChainNames, 'name' | 'coin'> & {
  payments: { tokens: readonly Token[] }
}

/** Of what a request names, or a refusal that lists what there is. */
export function readPaidIn(
  { name, coin, payments: { tokens } }: PayingChain,
  currency = coin,
): PaidIn {
  const token = tokens.find((one) => one.currency === currency)
  if (token !== undefined) return { unit: unitOf(token), token: token.address, isCoin: false }
  if (currency === coin) return { unit: unitOfCoin(coin), token: undefined, isCoin: true }
  // Where the chain has no dollar, the sender says what to do.
  if (currency === 'USD') return { unit: { currency }, token: undefined, isCoin: false }
  const known = [coin, ...tokens.map((one) => one.currency)].join(', ')
  const message =
    currency === 'ETH'
      ? `The coin of ${name} is ${coin}, not ETH. Send ${coin}, or one of these: ${known}.`
      : `${JSON.stringify(currency)} is not configured here. Use one of these: ${known}.`
  throw invalidRequest([{ field: 'currency', code: 'currency_unknown', message }])
}
