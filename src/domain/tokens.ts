import type { Unit } from './money.ts'
import type { Hex } from './orders.ts'

/** A token that payments can be made in, as its contract says of itself. */
export type Token = {
  /** What requests and records call it: USD where it is the stablecoin, else its symbol. */
  currency: string
  /** In lower case. */
  address: Hex
  /** Null where it is nothing that a person could read. */
  symbol: string | null
  decimals: number
  /** What its permits (ERC-2612) are signed for; undefined where it takes none. */
  permitDomain: PermitDomain | undefined
}

/** The domain of EIP-712 that a token's permits are signed for, and its hash. */
export type PermitDomain = { name: string; version: string; separator: Hex }

/** A token that the operator names, which has to have that symbol. */
export type NamedToken = Pick<Token, 'address'> & { symbol: string }

/** In what requests and records count it: the dollar as banks do, any other as itself. */
export function unitOf({ currency, decimals }: Pick<Token, 'currency' | 'decimals'>): Unit {
  return currency === 'USD' ? { currency } : { currency, tokenDecimals: decimals }
}
