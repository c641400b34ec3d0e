import { formatAmount } from '../domain/money.ts'
import type { Expected, Match } from './match.ts'
import type { Payment } from './payments.ts'
import type { Disagreement } from './verdict.ts'

/** In what a person reads an amount. */
export type Coin = {
  /** Undefined where the token tells none that can be shown. */
  symbol: string | undefined
  decimals: number
}

export const ETHER: Coin = { symbol: 'ETH', decimals: 18 }

/** The coin of a payment, by what its token says of itself; undefined where that is not known. */
export function coinOf(
  { token }: Pick<Payment, 'token'>,
  state: { symbol: string | undefined; decimals: number | undefined } | undefined,
): Coin | undefined {
  if (token === null) return ETHER
  const { symbol, decimals } = state ?? {}
  return decimals === undefined ? undefined : { symbol, decimals }
}

/** `12.345678 USDC`, or the smallest units where the decimals are not known. */
export function formatMoney(amount: bigint, coin: Coin | undefined): string {
  if (coin === undefined) return `${amount} in the smallest unit`
  const decimal = formatAmount({ amount, decimals: coin.decimals })
  return coin.symbol === undefined ? decimal : `${decimal} ${coin.symbol}`
}

/** What differs, with amounts as a person reads them, and the coin that was paid. */
export function inCoin(
  { payment, disagreements }: Match,
  { expected, coin }: { expected: Expected; coin: Coin | undefined },
): readonly Disagreement[] {
  if (payment === undefined) return disagreements
  return disagreements.map((one) => {
    if (one.kind === 'wrong_amount' && expected.amount !== undefined) {
      const claimed = formatMoney(expected.amount, claimedCoin(payment, { expected, coin }))
      const message = `The amount is ${formatMoney(payment.amount, coin)}, not ${claimed}.`
      return { ...one, message }
    }
    return one.kind === 'wrong_token'
      ? { ...one, message: otherToken(payment, expected, coin) }
      : one
  })
}

/** An amount that was claimed of another token is not read with the decimals of this one. */
function claimedCoin(
  { token }: Payment,
  { expected, coin }: { expected: Expected; coin: Coin | undefined },
): Coin | undefined {
  if (expected.token === null) return ETHER
  return expected.token === undefined || expected.token === token ? coin : undefined
}

function otherToken(
  { token, amount }: Payment,
  { token: claimed }: Expected,
  coin: Coin | undefined,
): string {
  const paid = `It pays ${formatMoney(amount, coin)}`
  if (token === null) return `${paid}, which is native coin, and not the token ${claimed}.`
  return claimed === null
    ? `${paid} of the token ${token}, and not native coin. Name that token if it is meant.`
    : `${paid} of the token ${token}, and not of ${claimed}.`
}
