import { findKnownChainById } from '../base/chains/known.ts'
import { CURRENCY_DECIMALS, type Unit } from './money.ts'

/** Of every chain that is served: wei are 18 decimals behind the coin. */
export const COIN_DECIMALS = CURRENCY_DECIMALS.ETH

/** What gas is paid in on that chain, as far as the chain is known: ether, if it is not. */
export function coinOfChain(chainId: number | bigint): string {
  return findKnownChainById(Number(chainId))?.coin ?? 'ETH'
}

/** In what requests and records count it: another coin than ether as itself. */
export function unitOfCoin(coin: string): Unit {
  return coin === 'ETH' ? { currency: coin } : { currency: coin, tokenDecimals: COIN_DECIMALS }
}
