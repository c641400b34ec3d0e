import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

import { BaseError } from '../base/errors.ts'
import type { Network } from '../deploy/networks.ts'

export type SourceOf = {
  name: string
  address: string
  constructorArguments: readonly string[]
}

export type SourceVerdict = { name: string; service: string; accepted: boolean }

/** Runs Hardhat in the project's folder and says how it ended. */
export type RunHardhat = (args: string[], env: Record<string, string>) => Promise<number | null>

/** The services that publish source code. Etherscan asks for a key, the others for none. */
const SERVICES = ['sourcify', 'blockscout', 'etherscan'] as const

/** Publishes the source of each contract, so that explorers show it with the code. */
export async function verifySources(options: {
  network: Network
  rpcUrl: string
  sources: readonly SourceOf[]
  run: RunHardhat
}): Promise<SourceVerdict[]> {
  const { network, rpcUrl, sources, run } = options
  const verdicts: SourceVerdict[] = []
  for (const { name, address, constructorArguments } of sources) {
    for (const service of SERVICES) {
      const task = ['--network', network.name, '--build-profile', 'default', 'verify', service]
      const contract = ['--contract', `contracts/${name}.sol:${name}`, address]
      const args = [...task, ...contract, ...constructorArguments]
      const accepted = (await run(args, { [network.rpcVariable]: rpcUrl })) === 0
      verdicts.push({ name, service, accepted })
    }
  }
  return verdicts
}

/** Hardhat is there in a clone of the repository and absent from the published package. */
export function findHardhat(network: Network): RunHardhat {
  if (network.chainId === undefined) throw localSources(network)
  const root = path.resolve(import.meta.dirname, '..', '..')
  const program = hardhatProgram()
  if (program === undefined || !existsSync(path.join(root, 'hardhat.config.ts'))) throw noHardhat()
  return (args, env) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: root,
        env: { ...process.env, ...env },
        // Our own output may be JSON, so what Hardhat says goes where messages go.
        stdio: ['inherit', process.stderr, process.stderr],
      })
      child.once('error', reject)
      child.once('exit', resolve)
    })
}

function hardhatProgram(): string | undefined {
  try {
    const file = createRequire(import.meta.url).resolve('hardhat/package.json')
    return path.join(path.dirname(file), 'dist', 'src', 'cli.js')
  } catch {
    return undefined
  }
}

function noHardhat(): VerifySourcesError {
  return new VerifySourcesError(
    'Publishing the source needs Hardhat and the contracts, which are missing here. Run the command in a clone of the repository with its development packages.',
    { code: 'verify_unavailable' },
  )
}

function localSources({ title }: Network): VerifySourcesError {
  return new VerifySourcesError(
    `No explorer shows ${title}. Leave out --verify, or choose a public network.`,
    { code: 'verify_local' },
  )
}

export class VerifySourcesError extends BaseError {
  override readonly name = 'VerifySourcesError'
}
