import { InvalidArgumentError, type Command } from 'commander'

import { parseConfig, type Config } from '../base/config.ts'
import type { Finality } from '../base/chains/config.ts'
import { BaseError } from '../base/errors.ts'
import { readReady } from '../base/ready.ts'
import { parseTime } from '../base/time.ts'
import { quantity } from '../chain/answers.ts'
import { parseAddress, parseHash, type Hex } from '../chain/hex.ts'
import { plainProvider, type Provider } from '../chain/rpc/provider.ts'
import { chainOption, chooseChain } from './chain.ts'

export type ProviderFlags = {
  chain?: string
  rpcUrl?: string
  chainId?: bigint
  confirmations?: Finality
}

export type Asked = {
  chainId: bigint
  /** Where the settlement contract is, if not at the address that it has on every chain. */
  settlement: string | undefined
  /** Our own dollar, where it is configured or runs here. */
  stablecoin: string | undefined
  providers: Provider[]
  confirmations: Finality
}

/** What is known before a node is asked. */
export type Found = Omit<Asked, 'chainId'> & {
  /** Undefined where nothing but a node says it. */
  chainId: bigint | undefined
}

/** The options of every command that asks nodes. */
export function withProviders(command: Command): Command {
  return command
    .addOption(chainOption().conflicts('chainId'))
    .option(
      '--rpc-url <url>',
      'the nodes to ask instead of ETH_RPC_URL; separate several with commas',
    )
    .option('--chain-id <number>', 'the chain id (default: that of the first node)', wholeNumber)
    .option(
      '--confirmations <number>',
      'blocks until a block is final, or finalized, or safe',
      confirmations,
    )
    .option('--json', 'print the answer as JSON')
}

export async function providersOf(flags: ProviderFlags): Promise<Asked> {
  const found = findProviders(flags)
  const [first] = found.providers
  if (first === undefined) throw noProvider()
  const chainId =
    found.chainId ?? quantity(await first.request({ method: 'eth_chainId' }), 'eth_chainId')
  return { ...found, chainId }
}

/** Where the same node is named twice, it is asked once: it cannot confirm itself. */
export function findProviders(flags: ProviderFlags): Found {
  const { urls, ...known } = findAddresses(flags)
  const providers = new Map(urls.map((url) => [url, plainProvider(url)]))
  const names = [...providers.values()].map(({ name }) => name)
  return {
    providers: [...providers.values()].map((provider, at) =>
      names.indexOf(provider.name) === at
        ? provider
        : { ...provider, name: `${provider.name} (${at + 1})` },
    ),
    ...known,
  }
}

/** The nodes that are named, or else the one of the program that runs here. */
export function addressesOf(flags: ProviderFlags): Addresses {
  const found = findAddresses(flags)
  if (found.urls.length === 0) throw noProvider()
  return found
}

type Addresses = {
  /** The settings of the chain. */
  config: Config
  chainId: bigint | undefined
  urls: string[]
  confirmations: Finality
  settlement: string | undefined
  stablecoin: string | undefined
}

function findAddresses(flags: ProviderFlags): Addresses {
  const settings = parseConfig(process.env)
  const ready = readReady(settings.dataFolder)
  const { config, running } = chooseChain(flags.chain, { config: settings, ready })
  const named = flags.rpcUrl?.split(',').map((url) => url.trim()) ?? config.rpcUrls
  const urls = [...new Set(named.length > 0 || !running ? named : [running.rpcUrl])]
  const isRunning = urls.length === 1 && urls[0] === running?.rpcUrl
  const isAnyChain = flags.rpcUrl !== undefined && flags.chain === undefined
  const chainId = isAnyChain || config.chainId === undefined ? undefined : BigInt(config.chainId)
  return {
    config,
    chainId: flags.chainId ?? chainId,
    urls,
    confirmations: flags.confirmations ?? confirmationsOf(config, { isRunning, isAnyChain }),
    settlement: config.settlementAddress ?? (isRunning ? running?.settlement : undefined),
    stablecoin: config.stablecoinAddress ?? (isRunning ? running?.stablecoin : undefined),
  }
}

export function wholeNumber(text: string): bigint {
  if (!/^\d{1,78}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return BigInt(text)
}

export function time(text: string): Date {
  const found = parseTime(text)
  if (found !== undefined) return found
  throw new InvalidArgumentError('Write a time as 2025-03-14 or as 2025-03-14T09:26:53Z.')
}

/** The place of an event in its receipt. */
export function place(text: string): bigint {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError('It must be an index such as 0 or 12.')
  return BigInt(text)
}

export function hexHash(text: string): Hex {
  const found = parseHash(text)
  if (found !== undefined) return found
  throw new InvalidArgumentError('It must be 0x and 64 hexadecimal digits.')
}

export function hexAddress(text: string): Hex {
  const found = parseAddress(text)
  if (found !== undefined) return found
  throw new InvalidArgumentError('It must be an address with a valid checksum.')
}

function confirmations(text: string): Finality {
  if (text === 'finalized' || text === 'safe') return text
  if (!/^[1-9]\d{0,5}$/.test(text)) {
    throw new InvalidArgumentError('It must be a whole number from 1, or: finalized')
  }
  return Number(text)
}

/** What is set for a chain is for that one, and the embedded chain's default for it alone. */
function confirmationsOf(
  config: Config,
  { isRunning, isAnyChain }: { isRunning: boolean; isAnyChain: boolean },
): Finality {
  const isSet = Boolean(process.env['QUITTANCE_CONFIRMATIONS'])
  const isOfChain = config.name !== undefined && !isAnyChain
  return isSet || isRunning || isOfChain ? config.confirmations : DEFAULT_CONFIRMATIONS
}

const DEFAULT_CONFIRMATIONS = 12

function noProvider(): BaseError {
  return new BaseError(
    'No node is named. Set ETH_RPC_URL, pass --rpc-url, or start the sandbox: npm start',
    {
      code: 'provider_missing',
    },
  )
}
