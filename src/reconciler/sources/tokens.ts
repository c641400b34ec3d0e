import type { Hex } from '../../chain/hex.ts'
import { readDecimals, readSymbol, TOKEN_VIEWS } from '../../chain/read/token.ts'
import type { RpcItem } from '../../chain/rpc/rpc.ts'
import { isCurrencyName } from './records.ts'

/** What an ERC-20 says of itself. */
export type TokenFacts = {
  decimals: number
  /** Undefined where it has none that a person could type. */
  symbol: string | undefined
}

/** The two calls whose answers `readToken` reads. */
export function tokenCalls(token: Hex): [decimals: RpcItem, symbol: RpcItem] {
  const call = (data: Hex): RpcItem => ({
    method: 'eth_call',
    params: [{ to: token, data }, 'latest'],
  })
  return [call(TOKEN_VIEWS.decimals), call(TOKEN_VIEWS.symbol)]
}

/** Undefined where what answers is not an ERC-20 with decimals. */
export function readToken(told: { decimals: unknown; symbol: unknown }): TokenFacts | undefined {
  const decimals = readDecimals(told.decimals)
  if (decimals === undefined) return undefined
  const symbol = readSymbol(told.symbol) ?? ''
  return { decimals, symbol: isCurrencyName(symbol) ? symbol : undefined }
}
