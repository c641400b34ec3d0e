import { findKnownChainById } from '../base/chains/known.ts'
import { COIN_DECIMALS, coinOfChain } from '../domain/coins.ts'
import { formatAmount, isCurrency } from '../domain/money.ts'
import type { Payment } from './read-payments.ts'

/** In what a person reads an amount. */
export type Coin = {
  /** Undefined where the token has no symbol that can be shown. */
  symbol: string | undefined
  decimals: number
}

/** What gas is paid in on a chain, as far as the chain is known. */
export function nativeCoin(chainId: bigint): Coin {
  return { symbol: coinOfChain(chainId), decimals: COIN_DECIMALS }
}

type TokenState = { symbol: string | undefined; decimals: number | undefined }

/**
 * Whether that is the coin of the chain, as far as the chain is known; of another one, any name may
 * be that of its coin, but none of money that banks hold.
 */
export function isCoinOf(chainId: bigint | undefined, name: string): boolean {
  const known = findKnownChainById(Number(chainId))
  return known === undefined ? name === 'ETH' || !isCurrency(name) : name === known.coin
}

/** The coin of a payment, by what its token says of itself; undefined where that is not known. */
export function coinOf(
  { token }: Pick<Payment, 'token'>,
  of: { chainId: bigint; state: TokenState | undefined },
): Coin | undefined {
  if (token === null) return nativeCoin(of.chainId)
  const { symbol, decimals } = of.state ?? {}
  return decimals === undefined ? undefined : { symbol, decimals }
}

/** `12.345678 USDC`, or the smallest units where the decimals are not known. */
export function formatMoney(amount: bigint, coin: Coin | undefined): string {
  if (coin === undefined) return `${amount} in the smallest unit`
  const decimal = formatAmount({ amount, decimals: coin.decimals })
  return coin.symbol === undefined ? decimal : `${decimal} ${coin.symbol}`
}
