import type { HexAddress } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { settlementAddress } from '../../bindings/addresses.ts'
import type { Hex } from '../../domain/orders.ts'
import type { NamedToken, Token } from '../../domain/tokens.ts'
import { checksummed, parseAddress } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { readStablecoin, type TokenFacts } from './stablecoin.ts'
import { readTokens } from './tokens.ts'

/** The contracts that payments go through; one that the chain lacks is undefined. */
export type Contracts = {
  settlement: HexAddress | undefined
  stablecoin: HexAddress | undefined
}

/** What was found, and what the stablecoin says of itself. */
export type FoundContracts = Contracts & {
  token: TokenFacts | undefined
  /** All that payments can be made in, the stablecoin first. */
  tokens: readonly Token[]
}

/**
 * What the operator names must be there, or the start fails. The settlement contract has the same
 * address everywhere, so it is found without being named; a stablecoin is not, and one that does
 * not fit is refused.
 */
export async function findContracts(
  providers: Pick<Providers, 'all' | 'ask'>,
  named: Contracts & { tokens?: readonly NamedToken[] },
): Promise<FoundContracts> {
  const settlement = requireAddress('SETTLEMENT_ADDRESS', named.settlement)
  if (settlement !== undefined && !(await hasCode(providers, settlement))) {
    throw new NoContractError('SETTLEMENT_ADDRESS', settlement)
  }
  const stablecoin = requireAddress('STABLECOIN_ADDRESS', named.stablecoin)
  const token = stablecoin && (await readStablecoin(providers, { address: stablecoin }))
  const others = await readTokens(providers, { named: named.tokens ?? [], stablecoin })
  const tokens = [...(stablecoin && token ? [dollarOf(stablecoin, token)] : []), ...others]
  if (settlement !== undefined) return { settlement, stablecoin, token, tokens }
  const isThere = await hasCode(providers, settlementAddress)
  return { settlement: isThere ? settlementAddress : undefined, stablecoin, token, tokens }
}

function dollarOf(address: HexAddress, { symbol, decimals, permitDomain }: TokenFacts): Token {
  return { currency: 'USD', address: address.toLowerCase() as Hex, symbol, decimals, permitDomain }
}

function requireAddress(variable: string, address: HexAddress | undefined): HexAddress | undefined {
  if (address === undefined) return undefined
  if (parseAddress(address) === undefined) throw new BadChecksumError(variable, address)
  return checksummed(address)
}

async function hasCode({ ask }: Pick<Providers, 'ask'>, address: HexAddress): Promise<boolean> {
  const { result: code } = await ask({ method: 'eth_getCode', params: [address, 'latest'] })
  return typeof code === 'string' && code.length > 2
}

class BadChecksumError extends BaseError {
  constructor(variable: string, address: HexAddress) {
    super(`${variable} is ${address}, and its checksum is wrong. Copy it again.`, {
      code: 'bad_configuration',
    })
  }
}

class NoContractError extends BaseError {
  constructor(variable: string, address: HexAddress) {
    super(
      `There is no contract at ${address} on this chain. Correct ${variable}, or deploy it with: quittance deploy`,
      { code: 'contract_missing', details: { address } },
    )
  }
}
