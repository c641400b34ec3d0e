import type { Config } from '../../base/config.ts'
import { findRunning } from '../../base/ready.ts'
import { readSignerOnChain } from '../../chain/read/signers.ts'
import { openSigners } from '../../chain/signers/open-signers.ts'
import type { Signers } from '../../chain/signers/signer.ts'
import { findWellKnownSigner } from '../../chain/signers/well-known-signers.ts'
import { isDevelopmentChain } from '../../domain/chains.ts'
import { COIN_DECIMALS, coinOfChain } from '../../domain/coins.ts'
import { formatAmount, STABLECOIN_DECIMALS } from '../../domain/money.ts'
import type { Hex } from '../../domain/orders.ts'
import type { FoundChain } from './chain.ts'
import { problemOf, type Report } from './finding.ts'

type Asking = {
  config: Config
  chain: FoundChain | undefined
  signal: AbortSignal
  report: Report
}

/** Opens the keys, has one of them sign, and looks at what its address has. */
export async function checkSigners(asking: Asking): Promise<void> {
  const { config, chain, signal, report } = asking
  const mayBeKnown =
    config.environment === 'sandbox' && (chain === undefined || isDevelopmentChain(chain.chainId))
  if (config.signer === undefined) {
    report(
      mayBeKnown
        ? { status: 'ok', message: 'the seed of the sandbox signs' }
        : {
            status: 'problem',
            message: 'QUITTANCE_SIGNER is not set',
            remedy: 'Set it to keys of your own, such as web3signer:URL#ADDRESS.',
          },
    )
    return
  }
  let signers: Signers
  try {
    signers = await openSigners(config.signer, signal)
    // No contract has a domain of zeros, so what is signed here is good for nothing.
    await signers.at(0).signTyped(`0x1901${'00'.repeat(64)}`, signal)
  } catch (error) {
    report(problemOf(error))
    return
  }
  const { address } = signers.at(0)
  report({ status: 'ok', message: `${signers.kind} signs for the platform as ${address}` })
  const known = findWellKnownSigner(signers)
  if (known !== undefined && !mayBeKnown) {
    report({
      status: 'problem',
      message: `${known}, and everyone can sign with it`,
      remedy: 'Use keys of your own.',
    })
  }
  if (chain !== undefined) await checkHoldings(address, { ...asking, chain })
}

async function checkHoldings(
  signer: Hex,
  { config, chain, signal, report }: Asking & { chain: FoundChain },
): Promise<void> {
  // What runs says it of its default chain only.
  const isNamed = config.name !== undefined
  const running = isNamed ? undefined : findRunning(config.dataFolder)?.stablecoin
  const mintsIn = (config.stablecoinAddress ?? running) as Hex | undefined
  const { balance, mint } = await readSignerOnChain(chain.providers, { signer, mintsIn, signal })
  const coin = config.coin ?? coinOfChain(chain.chainId)
  if (balance === undefined) {
    report({ status: 'warning', message: `no provider says what ${signer} has` })
  } else if (balance === 0n) {
    report({
      status: 'problem',
      message: `${signer} has 0 ${coin}, so it cannot pay gas`,
      remedy: 'Send it coin of the chain.',
    })
  } else {
    const amount = formatAmount({ amount: balance, decimals: COIN_DECIMALS })
    report({ status: 'ok', message: `${signer} has ${amount} ${coin}` })
  }
  if (mint === undefined || mint.allowance > 0n) {
    if (mint === undefined) return
    const dollars = formatAmount({ amount: mint.allowance, decimals: STABLECOIN_DECIMALS })
    report({ status: 'ok', message: `${signer} may mint ${dollars} USD` })
    return
  }
  report({
    status: 'warning',
    message: `${signer} ${mint.isMinter ? 'has no allowance left to mint' : 'is not a minter'} of the stablecoin`,
    remedy: `The admin of the token calls configureMinter(${signer}, allowance).`,
  })
}
