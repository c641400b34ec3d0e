import { join } from 'node:path'

import type { Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { findContracts, type Contracts, type FoundContracts } from '../chain/read/contracts.ts'
import { callRpc } from '../chain/rpc/rpc.ts'
import { NETWORKS } from '../deploy/networks.ts'
import { createDeploymentRecords } from '../deploy/records.ts'
import type { Chain } from './chain.ts'

/**
 * The embedded chain gets both contracts, by the same code as any other; elsewhere they are looked
 * for.
 */
export async function startContracts(options: {
  config: Config
  chain: Chain
}): Promise<FoundContracts & { detail: string }> {
  const { config, chain } = options
  const named = { settlement: config.settlementAddress, stablecoin: config.stablecoinAddress }
  const isOurs = chain.isEmbedded && !named.settlement && !named.stablecoin
  const { tokens } = config
  const contracts = await findContracts(chain.providers, {
    ...(isOurs ? await deployEmbedded(config, chain) : named),
    tokens,
  })
  const { settlement, token } = contracts
  requireProfile(config, token)
  const found = [
    ...(settlement ? ['Settlement'] : []),
    ...(token ? [token.symbol ?? 'stablecoin'] : []),
    ...tokens.map(({ symbol }) => symbol),
  ]
  return { ...contracts, detail: found.length > 0 ? listed(found) : 'none on this chain' }
}

/** What the operator expects of the dollar, and the chain does not show, stops the start. */
export function requireProfile(
  { stablecoinProfile: wanted, stablecoinAddress: address }: Config,
  token: FoundContracts['token'],
): void {
  const found: string | undefined = token?.profile
  if (wanted === undefined || found === wanted) return
  throw new BaseError(
    `The stablecoin ${address} has the profile ${found}, and QUITTANCE_CHAINS expects ${wanted}. ` +
      'Correct its address or its profile.',
    { code: 'wrong_profile', details: { address, wanted, found } },
  )
}

function listed(names: readonly string[]): string {
  return new Intl.ListFormat('en', { style: 'long' }).format(names).replace(', and ', ' and ')
}

async function deployEmbedded(config: Config, chain: Chain): Promise<Contracts> {
  // What deploys is loaded here alone: no other chain is deployed to at a start.
  const { connectDeployer } = await import('../deploy/connect.ts')
  const { MAX_ALLOWANCE } = await import('../deploy/minter.ts')
  const [account] = (await callRpc({ url: chain.url, method: 'eth_accounts' })) as string[]
  const deployer = await connectDeployer(
    {
      network: NETWORKS.localhost,
      rpcUrls: [chain.url],
      minter: { address: account ?? '', allowance: MAX_ALLOWANCE },
    },
    {
      records: createDeploymentRecords(join(config.dataFolder, 'deployments')),
      waiting: { pollIntervalMs: Math.min(config.blockMs, 100) },
    },
  )
  const stopMining = mineAhead(chain.url)
  try {
    const { addresses } = await deployer.execute()
    return { settlement: addresses.Settlement, stablecoin: addresses.ReferenceDollar }
  } finally {
    stopMining()
  }
}

/** The chain is ours: the first start need not wait for the blocks that are due by the clock. */
function mineAhead(url: string): () => void {
  const timer = setInterval(() => {
    void callRpc({ url, method: 'evm_mine' }).catch(() => undefined)
  }, MINE_EVERY_MS)
  return () => clearInterval(timer)
}

const MINE_EVERY_MS = 50
