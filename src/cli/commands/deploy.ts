import { join } from 'node:path'

import { Command } from 'commander'

import { parseConfig, type Config } from '../../base/config.ts'
import { BaseError, codeOf } from '../../base/errors.ts'
import { readReady } from '../../base/ready.ts'
import { checksummed } from '../../chain/hex.ts'
import { openSigners } from '../../chain/signers/open-signers.ts'
import { connectDeployer, type ConnectedDeployer } from '../../deploy/connect.ts'
import { problemOf } from '../../deploy/deploy.ts'
import { DISAGREEMENTS } from '../../deploy/errors.ts'
import { missingLines } from '../../deploy/missing.ts'
import { findNetwork, NETWORKS, type Network } from '../../deploy/networks.ts'
import type { DeploymentPlan } from '../../deploy/plan.ts'
import { createDeploymentRecords } from '../../deploy/records.ts'
import { eventLine, planJson, planLines } from '../../deploy/report.ts'
import { wrapped } from '../../deploy/texts.ts'
import { confirmOnTerminal, requireYes, type Confirm } from '../confirm.ts'
import { createOutput, EXIT, reportError, type Output } from '../output.ts'
import { wholeNumber } from '../providers.ts'
import {
  findHardhat,
  verifySources,
  type RunHardhat,
  type SourceVerdict,
} from '../verify-sources.ts'

export type DeployFlags = {
  network: string
  rpcUrl?: string
  only?: string
  admin?: string
  minter?: string
  allowance?: bigint
  dryRun?: boolean
  yes?: boolean
  verify?: boolean
  json?: boolean
}

/** What the command uses of the world, so that a test can act as a person. */
export type DeployTerminal = {
  env: Readonly<Record<string, string | undefined>>
  output: Output
  report: (error: unknown) => void
  /** Absent where nobody can answer. */
  confirm?: Confirm | undefined
  findHardhat: (network: Network) => RunHardhat
}

export function deployCommand(): Command {
  return new Command('deploy')
    .requiredOption('--network <name>', `one of ${Object.keys(NETWORKS).join(', ')}`)
    .option(
      '--rpc-url <url>',
      'the node to use instead of a public one; separate several with commas',
    )
    .option('--only <contract>', 'deploy only settlement or only stablecoin')
    .option('--admin <address>', 'the admin of the ReferenceDollar, instead of the deployer')
    .option(
      '--minter <address>',
      'make it a minter of the ReferenceDollar; `platform` is signer 0 of QUITTANCE_SIGNER',
    )
    .option(
      '--allowance <amount>',
      'how much the minter may mint, in millionths of a dollar',
      wholeNumber,
    )
    .option('--dry-run', 'show the steps and their cost, and change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--verify', 'publish the source code, through Hardhat')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', HELP_AFTER)
    .action(async (flags: DeployFlags) => {
      process.exitCode = await runDeploy(flags, processTerminal(flags))
    })
}

const HELP_AFTER = `
The key is QUITTANCE_DEPLOYER_KEY. A local chain signs with its own account.
Exit code: 0 it is deployed, 1 something else is at the address, 2 could not run.`

/** Throws what kept it from running. */
export async function runDeploy(flags: DeployFlags, terminal: DeployTerminal): Promise<number> {
  try {
    return await deploy(flags, terminal)
  } catch (error) {
    if (!DISAGREEMENTS.has(codeOf(error) ?? '')) throw error
    terminal.report(error)
    return EXIT.disagrees
  }
}

async function deploy(flags: DeployFlags, terminal: DeployTerminal): Promise<number> {
  const { output } = terminal
  const network = findNetwork(flags.network)
  const config = parseConfig(terminal.env)
  const rpcUrls = rpcUrlsOf(flags, { network, config, env: terminal.env })
  // Found before money is spent, so that a deployment does not end half done for want of it.
  const hardhat = flags.verify ? terminal.findHardhat(network) : undefined
  const platform = await platformOf(flags, config)
  const asked = flags.minter === 'platform' && platform ? { ...flags, minter: platform } : flags
  const deployer = await connect(asked, { network, rpcUrls, config, terminal })
  const plan = await deployer.plan()
  for (const line of planLines(plan, network)) output.line(line)
  const addresses = Object.fromEntries(
    deployer.contracts.map(({ name, address }) => [name, address]),
  )
  const base = { network: network.name, addresses, plan: planJson(plan) }
  const problem = problemOf(plan)
  if (flags.dryRun) {
    const { code, message } = problem ?? {}
    output.result({ ...base, dryRun: true, problem: problem && { code, message } })
    for (const line of message === undefined ? [] : wrapped(message)) output.line(line)
    return DISAGREEMENTS.has(code ?? '') ? EXIT.disagrees : EXIT.holds
  }

  if (problem !== undefined) throw problem
  await agree(flags, { plan, terminal })
  const { done } = await deployer.execute()
  const rpcUrl = rpcUrls[0] ?? network.rpcUrl
  const verdicts = hardhat && (await publish(flags, { deployer, network, rpcUrl, run: hardhat }))
  const token = config.stablecoinAddress && checksummed(config.stablecoinAddress)
  const missing = await deployer.missing({ platform, token })
  output.result({ ...base, done, verification: verdicts, missing })
  for (const line of resultLines(deployer, { done: done.length, verdicts })) output.line(line)
  for (const line of missingLines(missing)) output.line(line)
  return verdicts === undefined || isPublished(verdicts) ? EXIT.holds : EXIT.cannotRun
}

/** Who signs for the platform, where that is said. */
async function platformOf(
  { minter }: DeployFlags,
  { signer }: Config,
): Promise<`0x${string}` | undefined> {
  if (signer !== undefined) {
    const signers = await openSigners(signer, AbortSignal.timeout(SIGNER_MS))
    return signers.at(0).address
  }
  if (minter !== 'platform') return undefined
  throw new DeployCommandError(
    '--minter platform needs to know who signs for the platform. Set QUITTANCE_SIGNER, or pass the address.',
    { code: 'deploy_platform_unknown' },
  )
}

const SIGNER_MS = 60_000

function connect(
  flags: DeployFlags,
  found: { network: Network; rpcUrls: string[]; config: Config; terminal: DeployTerminal },
): Promise<ConnectedDeployer> {
  const { network, rpcUrls, config, terminal } = found
  const { only, admin, minter, allowance, dryRun = false } = flags
  if ((minter === undefined) !== (allowance === undefined)) throw halfAGrant()
  return connectDeployer(
    {
      network,
      rpcUrls,
      key: terminal.env['QUITTANCE_DEPLOYER_KEY'],
      planOnly: dryRun,
      admin,
      only,
      minter:
        minter === undefined || allowance === undefined
          ? undefined
          : { address: minter, allowance },
    },
    {
      records: createDeploymentRecords(join(config.dataFolder, 'deployments')),
      onProgress: (event) => terminal.output.line(eventLine(event)),
    },
  )
}

/** What was said on the command line goes before what the environment says. */
function rpcUrlsOf(
  { rpcUrl }: DeployFlags,
  found: { network: Network; config: Config; env: DeployTerminal['env'] },
): string[] {
  const { network, config, env } = found
  const named = rpcUrl || env[network.rpcVariable]
  if (named) return named.split(',').map((url) => url.trim())
  if (config.rpcUrls.length > 0) return config.rpcUrls
  // On this machine, the chain that `quittance up` runs is meant, wherever it listens.
  const running = network.chainId === undefined ? readReady(config.dataFolder) : undefined
  return [running?.rpcUrl ?? network.rpcUrl]
}

async function agree(
  { yes = false }: DeployFlags,
  { plan, terminal }: { plan: DeploymentPlan; terminal: DeployTerminal },
): Promise<void> {
  const isFree = plan.steps.every(({ state }) => state !== 'absent')
  if (isFree || yes) return
  await requireYes('Deploy? [y/N] ', {
    confirm: terminal.confirm,
    code: 'deploy_not_confirmed',
    declined: 'Nothing was deployed.',
    unasked:
      'Deploying costs money, and there is no terminal to confirm it. Run the command with --yes.',
  })
}

function publish(
  { admin }: DeployFlags,
  what: { deployer: ConnectedDeployer; network: Network; rpcUrl: string; run: RunHardhat },
): Promise<SourceVerdict[]> {
  const { deployer, network, rpcUrl, run } = what
  const sources = deployer.contracts.map(({ name, address }) => ({
    name,
    address,
    constructorArguments: name === 'Settlement' ? [] : [admin ?? deployer.account],
  }))
  return verifySources({ network, rpcUrl, run, sources })
}

/** One service that shows the source is enough for a reader to compare it. */
function isPublished(verdicts: readonly SourceVerdict[]): boolean {
  const names = new Set(verdicts.map(({ name }) => name))
  return [...names].every((name) => verdicts.some((one) => one.name === name && one.accepted))
}

function resultLines(
  { contracts }: ConnectedDeployer,
  { done, verdicts = [] }: { done: number; verdicts: SourceVerdict[] | undefined },
): string[] {
  return [
    ...contracts.map(({ name, address }) => `${name.padEnd(17)}${address}`),
    done === 0
      ? 'Everything is deployed already. Nothing was changed.'
      : `Done in ${done} ${done === 1 ? 'step' : 'steps'}.`,
    ...verdicts.map(
      ({ name, service, accepted }) =>
        `${name}: ${accepted ? 'source shown by' : 'source not accepted by'} ${service}`,
    ),
  ]
}

function processTerminal({ json = false }: DeployFlags): DeployTerminal {
  return {
    env: process.env,
    output: createOutput({ json }),
    report: (error) => reportError(error, { json }),
    confirm: confirmOnTerminal(),
    findHardhat,
  }
}

function halfAGrant(): DeployCommandError {
  return new DeployCommandError(
    '--minter and --allowance belong together. Pass both, or neither.',
    { code: 'deploy_grant_incomplete' },
  )
}

export class DeployCommandError extends BaseError {
  override readonly name = 'DeployCommandError'
}
