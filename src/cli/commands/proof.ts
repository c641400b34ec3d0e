import { readFile, stat, writeFile } from 'node:fs/promises'

import { Command } from 'commander'

import { BaseError, codeOf } from '../../base/errors.ts'
import { check } from '../../verify/check.ts'
import { prove } from '../../verify/prove.ts'
import { MAX_QUITTANCE_BYTES } from '../../verify/quittance.ts'
import { createOutput } from '../output.ts'
import {
  findProviders,
  hexAddress,
  hexHash,
  providersOf,
  wholeNumber,
  withProviders,
} from '../providers.ts'
import { printVerdict } from '../verdict.ts'

type ProveFlags = {
  rpcUrl?: string
  chainId?: bigint
  json?: boolean
  out: string
  reference?: string
  log?: bigint
  contract?: string
  fact?: string[]
}

type CheckFlags = {
  rpcUrl?: string
  chainId?: bigint
  json?: boolean
  trustedBlockHash?: string
  offline?: boolean
}

export function proveCommand(): Command {
  const command = new Command('prove')
    .argument('<hash>', 'of the transaction', hexHash)
    .requiredOption('--out <file>', 'where to write it')
    .option('--reference <bytes>', 'which payment of the transaction is meant')
    .option('--log <number>', 'which payment is meant, by its place in the receipt', wholeNumber)
    .option('--contract <address>', 'another settlement contract', hexAddress)
    .option('--fact <name=text...>', 'what the file says of the order')
    .addHelpText('after', PROVE_HELP)
  return withProviders(command).action(async (hash: string, flags: ProveFlags) => {
    process.exitCode = await runProve(hash, flags)
  })
}

const PROVE_HELP = `
Examples:
  $ quittance prove HASH --out invoice-42.json
  $ quittance prove HASH --out invoice-42.json --fact id=invoice-42 payer_name=Zoë

Without --rpc-url and ETH_RPC_URL, the chain of a running \`quittance up\` is asked.
Exit code: 0 written, 1 the payment does not hold, 2 could not run.`

const CHECK_HELP = `
Examples:
  $ quittance check invoice-42.json --rpc-url https://one.example
  $ quittance check invoice-42.json --trusted-block-hash HASH_OF_ITS_BLOCK

Exit code: 0 it holds, 1 it does not, or not yet, 2 could not run.`

export function checkCommand(): Command {
  const command = new Command('check')
    .argument('<file>')
    .option('--trusted-block-hash <hash>', 'the hash of its block; then no node is asked', hexHash)
    .option('--offline', 'ask nobody, and say which block hash must be trusted')
    .addHelpText('after', CHECK_HELP)
  return withProviders(command).action(async (file: string, flags: CheckFlags) => {
    process.exitCode = await runCheck(file, flags)
  })
}

async function runProve(hash: string, flags: ProveFlags): Promise<number> {
  const { chainId, settlement, ...options } = await providersOf(flags)
  const { reference, contract = settlement, log, out } = flags
  const order = factsOf(flags.fact ?? [])
  const place = log === undefined ? undefined : Number(log)
  const request = { chainId, hash, reference, contract, log: place, order }
  const { verdict, quittance } = await prove(request, options)
  const output = createOutput(flags)
  if (quittance !== undefined) await write(out, quittance)
  const code = printVerdict(verdict, output)
  output.line(quittance === undefined ? '\nNothing was written.' : `\nWritten to ${out}`)
  return code
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw new BaseError(`${file} cannot be written (${codeOf(error)}). Name another with --out.`, {
      code: 'file_unwritable',
      cause: error,
    })
  }
}

async function runCheck(file: string, flags: CheckFlags): Promise<number> {
  const { trustedBlockHash, chainId, offline = false } = flags
  const asksNobody = offline || trustedBlockHash !== undefined
  const trust = asksNobody ? { trustedBlockHash, chainId } : { ...findProviders(flags), chainId }
  return printVerdict(await check(await contentOf(file), trust), createOutput(flags))
}

/** A file that is too large is not read: one byte more than any quittance has says as much. */
async function contentOf(file: string): Promise<string | Uint8Array> {
  try {
    const { size } = await stat(file)
    return size > MAX_QUITTANCE_BYTES ? ' '.repeat(MAX_QUITTANCE_BYTES + 1) : await readFile(file)
  } catch (error) {
    throw new BaseError(`${file} cannot be read (${codeOf(error)}). Name a quittance.`, {
      code: 'file_unreadable',
      cause: error,
    })
  }
}

function factsOf(facts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    facts.map((fact) => {
      const at = fact.indexOf('=')
      if (at < 1) throw new BaseError('A fact is written as name=text.', { code: 'fact_invalid' })
      return [fact.slice(0, at), fact.slice(at + 1)] as const
    }),
  )
}
