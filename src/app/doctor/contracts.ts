import type { Config } from '../../base/config.ts'
import { findRunning } from '../../base/ready.ts'
import { findContracts } from '../../chain/read/contracts.ts'
import type { TokenFacts } from '../../chain/read/stablecoin.ts'
import { requireProfile } from '../contracts.ts'
import type { FoundChain } from './chain.ts'
import { problemOf, type Report } from './finding.ts'

/** The contracts and tokens that the settings name, or that are at their usual place. */
export async function checkContracts(asking: {
  config: Config
  chain: FoundChain
  report: Report
}): Promise<void> {
  const { config, chain, report } = asking
  // The chain of a sandbox that runs has contracts at addresses which no setting names.
  const running = config.rpcUrls.length === 0 ? findRunning(config.dataFolder) : undefined
  const named = {
    settlement: config.settlementAddress ?? hex(running?.settlement),
    stablecoin: config.stablecoinAddress ?? hex(running?.stablecoin),
    tokens: config.tokens,
  }
  try {
    const { settlement, stablecoin, token } = await findContracts(chain.providers, named)
    requireProfile(config, token)
    const isNamed = config.name !== undefined
    if (settlement === undefined) {
      report({
        status: 'warning',
        message: `chain ${chain.chainId} has no settlement contract, so use_contract is refused`,
        remedy: 'Deploy it with: quittance deploy --only settlement',
      })
    } else {
      report({ status: 'ok', message: `the settlement contract is at ${settlement}` })
    }
    if (stablecoin === undefined) {
      report({
        status: 'warning',
        message: 'no stablecoin is configured, so mints, redeems and payments in USD are refused',
        remedy: isNamed ? 'Name it in QUITTANCE_CHAINS.' : 'Set STABLECOIN_ADDRESS.',
      })
    } else {
      report({
        status: 'ok',
        message: `the stablecoin is ${token?.symbol ?? 'a token'} at ${stablecoin}${isNamed && token ? looksOf(token) : ''}`,
      })
    }
    for (const { symbol, address } of config.tokens) {
      report({ status: 'ok', message: `the token ${symbol} is at ${address}` })
    }
  } catch (error) {
    report(problemOf(error))
  }
}

function looksOf({ decimals, profile }: TokenFacts): string {
  return `, ${decimals} decimals, profile ${profile}`
}

function hex(address: string | undefined): `0x${string}` | undefined {
  return address as `0x${string}` | undefined
}
