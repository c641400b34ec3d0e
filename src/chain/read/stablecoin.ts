import { BaseError } from '../../base/errors.ts'
import { STABLECOIN_DECIMALS } from '../../domain/money.ts'
import type { PermitDomain } from '../../domain/tokens.ts'
import type { Hex } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { readTokenAnswers, shorten, type TokenAnswers, type TokenProfile } from './token-answers.ts'

/** What the configured stablecoin says of itself. */
export type TokenFacts = {
  /** Null where it is nothing that a person could read. */
  symbol: string | null
  decimals: number
  profile: TokenProfile
  permitDomain: PermitDomain | undefined
}

/**
 * Reads the token and refuses one that does not fit, so that no amount is ever counted in other
 * units than the token's.
 */
export async function readStablecoin(
  providers: Pick<Providers, 'all'>,
  { address, signal }: { address: Hex; signal?: AbortSignal | undefined },
): Promise<TokenFacts> {
  return requireFit(address, await readTokenAnswers(providers, { address, signal }))
}

function requireFit(address: Hex, found: TokenAnswers): TokenFacts {
  const { hasCode, decimals, symbol, profile, permitDomain } = found
  if (!hasCode) throw noCode(address)
  if (decimals === undefined) throw unfit(address, 'its decimals() returns no number')
  if (decimals !== BigInt(STABLECOIN_DECIMALS)) {
    throw unfit(address, `its decimals() is ${shorten(String(decimals))}`)
  }
  if (symbol === undefined) throw unfit(address, 'its symbol() returns no text')
  return { symbol, decimals: STABLECOIN_DECIMALS, profile, permitDomain }
}

function noCode(address: Hex): UnfitTokenError {
  return new UnfitTokenError(
    `There is no contract at ${address} on this chain: found no code, expected a dollar token of ` +
      `${STABLECOIN_DECIMALS} decimals. Correct STABLECOIN_ADDRESS, or deploy one with: quittance deploy`,
    { code: 'contract_missing', details: { address } },
  )
}

function unfit(address: Hex, found: string): UnfitTokenError {
  return new UnfitTokenError(
    `The contract at ${address} is not a token to settle in: ${found}, and a dollar token of ` +
      `${STABLECOIN_DECIMALS} decimals is expected. ` +
      'Correct STABLECOIN_ADDRESS, or deploy one with: quittance deploy',
    { code: 'stablecoin_unfit', details: { address, found } },
  )
}

class UnfitTokenError extends BaseError {
  override readonly name = 'UnfitTokenError'
}
