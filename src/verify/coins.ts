import { formatAmount } from '../domain/money.ts'
import type { Payment } from './read-payments.ts'

/** In what a person reads an amount. */
export type Coin = {
  /** Undefined where the token has no symbol that can be shown. */
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
