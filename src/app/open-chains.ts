import type { ChainConfig } from '../base/chains/config.ts'
import { configOf, type Config } from '../base/config.ts'
import { codeOf, ImpossibleError, messageOf, type BaseError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop } from '../base/loop.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { ProviderEvent } from '../chain/rpc/http-provider.ts'
import { RpcError } from '../chain/rpc/rpc-error.ts'
import type { ChainNames } from '../domain/chains.ts'
import { listUnsettledChains, recordChain } from '../store/database/chains.ts'
import type { Db } from '../store/database/database.ts'
import { namesOf, startChain, type Chain } from './chain.ts'
import { startContracts } from './contracts.ts'
import type { Ground, OpenChain } from './ground.ts'

export type Connecting = {
  config: Config
  logger: Logger
  shutdown: Shutdown
  onEnd: (reason: BaseError) => void
  /** By the name of the chain. */
  onEvent: (chain: string) => (event: ProviderEvent) => void
  /** Reports each step to a person who watches the start. */
  timed: <T extends { detail: string }>(name: string, work: () => Promise<T>) => Promise<T>
}

type ConnectedChain = ChainNames & { config: Config; chain: Chain; detail: string }

/** A configured chain whose providers do not answer. */
type AwayChain = { chainConfig: ChainConfig; names: ChainNames }

export type ConnectedChains = { there: [ConnectedChain, ...ConnectedChain[]]; away: AwayChain[] }

/**
 * Connects to all chains at once. The default one must answer. Another one may be away: that is not
 * a mistake of the configuration, and it delays no other chain.
 */
export async function connectChains(connecting: Connecting): Promise<ConnectedChains> {
  const [usual, ...others] = connecting.config.chains
  if (usual === undefined) throw new ImpossibleError('a chain is configured')
  const away: AwayChain[] = []
  const connectOther = async (chainConfig: ChainConfig): Promise<ConnectedChain[]> => {
    const found = await ifThere(connecting, chainConfig, () => connect(connecting, chainConfig))
    if (found !== undefined) return [found]
    away.push(awayOf(chainConfig))
    return []
  }
  const connected = [connect(connecting, usual), ...others.map(connectOther)] as const
  await Promise.allSettled(connected)
  const [first, ...more] = connected
  const found = await Promise.all(more)
  return { there: [await first, ...found.flat()], away }
}

/** Asks the providers which chain they serve, or starts one of our own. */
async function connect(
  { timed, onEvent, ...connecting }: Connecting,
  chainConfig: ChainConfig,
): Promise<ConnectedChain> {
  const config = configOf(connecting.config, chainConfig)
  let count: ((event: ProviderEvent) => void) | undefined
  const { detail, ...chain } = await timed('chain', () =>
    startChain({
      ...connecting,
      config,
      onEvent(event, chainId) {
        count ??= onEvent(namesOf(chainConfig, { chainId }).name)
        count(event)
      },
    }),
  )
  return { ...namesOf(chainConfig, chain), config, chain, detail }
}

function awayOf(chainConfig: ChainConfig): AwayChain {
  const { chainId } = chainConfig
  if (chainId === undefined) throw new ImpossibleError('one of several chains has an id')
  return { chainConfig, names: namesOf(chainConfig, { chainId }) }
}

/** Finds the contracts, and keeps the names of the chain. */
async function open(
  { timed }: Pick<Connecting, 'timed'>,
  db: Db,
  connected: ConnectedChain,
): Promise<OpenChain> {
  await recordChain(db, connected)
  const { detail: _detail, ...contracts } = await timed('contracts', () =>
    startContracts(connected),
  )
  return { ...connected, contracts }
}

type OpenedChains = { opened: OpenChain[]; away: AwayChain[] }

export async function openChains(
  connecting: Connecting,
  db: Db,
  { there, away }: ConnectedChains,
): Promise<OpenedChains> {
  const opened: OpenChain[] = []
  for (const one of there) {
    const work = (): Promise<OpenChain> => open(connecting, db, one)
    const isUsual = one === there[0]
    const found = isUsual ? await work() : await ifThere(connecting, one, work)
    if (found === undefined) away.push(awayOf(one.config))
    else opened.push(found)
  }
  return { opened, away }
}

/** What the operator should know of chains that nobody serves any more. */
export async function warnOfForgotten(db: Db, served: readonly ChainNames[]): Promise<string[]> {
  const ids = new Set(served.map(({ chainId }) => chainId))
  const forgotten = (await listUnsettledChains(db)).filter(({ chainId }) => !ids.has(chainId))
  return forgotten.map(
    ({ name, chainId }) =>
      `Orders are in progress on ${name} (chain ${chainId}), which is no longer configured. ` +
      'Add it to QUITTANCE_CHAINS again.',
  )
}

/** Opens what was away at the start as soon as it answers. */
export function keepOpening(
  { db, clock, logger, shutdown }: Ground,
  of: { connecting: Connecting; away: AwayChain[]; run: (chain: OpenChain) => Promise<void> },
): void {
  const { connecting, away, run } = of
  if (away.length === 0) return
  const { signal } = shutdown
  const loop = createLoop({
    name: 'chains that are away',
    clock,
    logger,
    intervalMs: AWAY_MS,
    async pass() {
      for (const one of away.slice()) {
        const { chainConfig } = one
        const found = await ifThere(connecting, chainConfig, async () =>
          open(connecting, db, await connect(connecting, chainConfig)),
        )
        if (found === undefined || signal.aborted) continue
        await run(found)
        away.splice(away.indexOf(one), 1)
        logger.warn({ chain: found.name }, 'a chain that was away at the start is served now')
      }
    },
  })
  const opening = loop.run(signal)
  shutdown.add('the wait for chains that are away', () => opening)
}

const AWAY_MS = 5000

async function ifThere<T>(
  { logger }: Pick<Connecting, 'logger'>,
  { name }: Pick<ChainConfig, 'name'>,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RpcError) || codeOf(error) === 'rpc_wrong_chain') throw error
    const told = { chain: name, problem: messageOf(error) }
    logger.warn(told, 'no provider of a chain answers; the other chains are served')
    return undefined
  }
}
