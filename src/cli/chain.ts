import { Option } from 'commander'

import type { ChainConfig } from '../base/chains/config.ts'
import { configOf, type Config } from '../base/config.ts'
import { BaseError, ImpossibleError } from '../base/errors.ts'
import type { ReadyFacts } from '../base/ready.ts'

/** A chain as a command names it. */
export type ChosenChain = {
  /** The settings, as they are for that chain. */
  config: Config
  /** What the program that runs here says of it; undefined where none runs, or not on it. */
  running: RunningChain | undefined
}

type RunningChain = Pick<ReadyFacts, 'chainId' | 'rpcUrl' | 'settlement' | 'stablecoin'>

/** Of every command that touches a chain. */
export function chainOption(): Option {
  return new Option('--chain <name>', 'the chain (default: the first one of QUITTANCE_CHAINS)')
}

/** Of the file of chains or of the program that runs here; without a name, the default one. */
export function chooseChain(
  name: string | undefined,
  { config, ready }: { config: Config; ready: ReadyFacts | undefined },
): ChosenChain {
  if (name === undefined) return { config, running: ready }
  const runs = ready?.chains ?? []
  const settings = config.chains.find((one) => one.name === name)
  const running = runs.find((one) => one.name === name)
  if (settings === undefined && running === undefined) {
    const configured = config.chains.flatMap((one) => one.name ?? [])
    throw new ChainUnknownError(name, [...configured, ...runs.map((one) => one.name)])
  }
  return { config: configOf(config, settings ?? settingsOf(name, config, running)), running }
}

/** Of a chain of the sandbox's own, which no file lists. */
function settingsOf(
  name: string,
  { chains }: Config,
  running: RunningChain | undefined,
): ChainConfig {
  const [usual] = chains
  if (running === undefined || !usual) throw new ImpossibleError('it is configured, or it runs')
  return { ...usual, name, chainId: running.chainId }
}

export class ChainUnknownError extends BaseError {
  constructor(name: string, known: readonly string[]) {
    const names = [...new Set(known)].join(', ')
    super(
      names === ''
        ? `No chain is named ${JSON.stringify(name)} here. Set QUITTANCE_CHAINS, or leave out --chain.`
        : `No chain is named ${JSON.stringify(name)} here. Use one of these: ${names}.`,
      { code: 'chain_unknown', details: { name } },
    )
  }
}
