import { join } from 'node:path'

import { systemClock } from '../base/clock.ts'
import { SANDBOX_CHAIN_ID, type ChainConfig } from '../base/chains/config.ts'
import type { Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { findKnownChainById } from '../base/chains/known.ts'
import type { Logger } from '../base/logger.ts'
import type { Shutdown } from '../base/shutdown.ts'
import { startAnvil } from '../chain/embedded/anvil.ts'
import { readChainId } from '../chain/rpc/chain-id.ts'
import type { ProviderEvent } from '../chain/rpc/http-provider.ts'
import { createProviders, type Providers } from '../chain/rpc/providers.ts'
import { nameOfProvider } from '../chain/rpc/rpc.ts'
import { coinOfChain } from '../domain/coins.ts'
import { isDevelopmentChain, type ChainNames } from '../domain/chains.ts'

export type Chain = { url: string; chainId: number; isEmbedded: boolean; providers: Providers }

/** How the chain is called, and its coin: as it is configured, or as it is known. */
export function namesOf(
  { name, code, coin }: Pick<ChainConfig, 'name' | 'code' | 'coin'>,
  { chainId }: { chainId: number },
): ChainNames {
  const usual = isDevelopmentChain(chainId) ? 'local' : `chain-${chainId}`
  const known = findKnownChainById(chainId)
  return {
    chainId,
    name: name ?? known?.name ?? usual,
    code,
    coin: coin ?? coinOfChain(chainId),
  }
}

export async function startChain(options: {
  config: Config
  logger: Logger
  shutdown: Shutdown
  onEnd: (reason: BaseError) => void
  onEvent: (event: ProviderEvent, chainId: number) => void
}): Promise<Chain & { detail: string }> {
  const { config, logger, shutdown, onEnd, onEvent } = options
  const urls = config.rpcUrls
  const [url] = urls
  if (url !== undefined) {
    const { signal } = shutdown
    const chainId = config.chainId ?? (await readChainId({ urls, signal }))
    const providers = connect({ urls, chainId, logger, onEvent })
    // Nobody has said yet that it is this chain.
    if (config.chainId !== undefined) await requireChain({ providers })
    const detail = `chain ${chainId} at ${urls.map(nameOfProvider).join(', ')}`
    return { url, chainId, isEmbedded: false, providers, detail }
  }
  const place = (config.chainId ?? SANDBOX_CHAIN_ID) - SANDBOX_CHAIN_ID
  const anvil = await startAnvil({
    folder: join(config.dataFolder, place === 0 ? 'chain' : `chain-${config.chainId}`),
    blockMs: config.blockMs,
    mnemonic: SANDBOX_MNEMONIC,
    // A fixed address is handy for a wallet. Where the server takes any free port, the chain does
    // as well.
    preferredPort: config.port === 0 ? 0 : 8545 + place,
    chainId: config.chainId ?? SANDBOX_CHAIN_ID,
  })
  shutdown.add('the embedded chain', anvil.stop)
  anvil.onEnd(() => {
    if (!shutdown.signal.aborted) onEnd(new ChainEndedError(anvil.pid))
  })
  const detail = `anvil, chain ${anvil.chainId}, a block every ${config.blockMs / 1000} s`
  const { chainId } = anvil
  const providers = connect({ urls: [anvil.url], chainId, logger, onEvent })
  return { url: anvil.url, chainId, isEmbedded: true, providers, detail }
}

/** Asks every provider, and is content with one that serves the chain. Says how many do. */
export async function requireChain({ providers }: Pick<Chain, 'providers'>): Promise<number> {
  const checks = await providers.checkAll(AbortSignal.timeout(READY_TIMEOUT_MS))
  const count = checks.filter(({ error }) => error === undefined).length
  if (count > 0) return count
  const wrong = checks.find(({ wrongChainId }) => wrongChainId !== undefined)
  throw wrong?.error ?? checks[0]?.error ?? new NoProviderError()
}

const READY_TIMEOUT_MS = 2000

function connect(options: {
  urls: readonly string[]
  chainId: number
  logger: Logger
  onEvent: (event: ProviderEvent, chainId: number) => void
}): Providers {
  const { logger, onEvent, ...chain } = options
  const { chainId } = chain
  return createProviders({
    ...chain,
    clock: systemClock,
    random: Math.random,
    onEvent(event) {
      onEvent(event, chainId)
      report(logger, event)
    },
  })
}

function report(logger: Logger, event: ProviderEvent): void {
  if (event.kind === 'wrong_chain') {
    logger.error(event, 'a provider serves another chain and is not used: correct its address')
  } else if (event.kind === 'circuit') {
    logger.warn(event, 'a provider failed too often, or recovered')
  }
}

/** How often final blocks are looked for: once a block, but at most twice a second. */
export function watchMs(
  { isEmbedded }: Pick<Chain, 'isEmbedded'>,
  { blockMs }: Pick<Config, 'blockMs'>,
): number {
  return isEmbedded ? Math.min(Math.max(blockMs, 500), 1000) : 4000
}

/** The seed that every Ethereum development tool knows: worth nothing, and meant to be. */
export const SANDBOX_MNEMONIC = 'test test test test test test test test test test test junk'

class NoProviderError extends BaseError {
  constructor() {
    super('No provider is configured. Set ETH_RPC_URL.', { code: 'rpc_no_provider' })
  }
}

class ChainEndedError extends BaseError {
  constructor(pid: number) {
    super(`The embedded chain (process ${pid}) has ended. Start the program again.`, {
      code: 'chain_ended',
    })
  }
}
