import { readFile, stat, writeFile } from 'node:fs/promises'

import { Command } from 'commander'

import { BaseError, codeOf } from '../../base/errors.ts'
import { check, type QuittanceClaim } from '../../verify/check.ts'
import { prove } from '../../verify/prove.ts'
import { MAX_QUITTANCE_BYTES } from '../../verify/quittance.ts'
import { unitsOf, withAmount, type AmountFlags } from '../amounts.ts'
import { createOutput } from '../output.ts'
import {
  findProviders,
  hexAddress,
  hexHash,
  place,
  providersOf,
  withProviders,
  type Found,
  type ProviderFlags,
} from '../providers.ts'
import { printVerdict } from '../verdict.ts'

type ProveFlags = ProviderFlags & {
  json?: boolean
  out: string
  reference?: string
  log?: bigint
  contract?: string
  fact?: string[]
}

type CheckFlags = AmountFlags &
  ProviderFlags & {
    json?: boolean
    trustedBlockHash?: string
    offline?: boolean
    payer?: string
    payee?: string
    reference?: string
    contract?: string
  }

export function proveCommand(): Command {
  const command = new Command('prove')
    .argument('<hash>', 'the hash of the transaction', hexHash)
    .requiredOption('--out <file>', 'the file to write')
    .option('--reference <bytes>', 'the reference of the payment in the transaction')
    .option('--log <number>', "the index of the payment's event in the receipt", place)
    .option('--contract <address>', 'a settlement contract at another address', hexAddress)
    .option('--fact <name=text...>', 'a fact about the order to write into the file')
    .addHelpText('after', PROVE_HELP)
  return withProviders(command).action(async (hash: string, flags: ProveFlags) => {
    process.exitCode = await runProve(hash, flags)
  })
}

const PROVE_HELP = `
Examples:
  $ quittance prove HASH --out invoice-42.json
  $ quittance prove HASH --out invoice-42.json --fact id=invoice-42 payer_name=Zoë
  $ quittance prove HASH --out invoice-42.json --fact payee=ADDRESS amount=0.25
  $ quittance prove HASH --chain base --out invoice-42.json

These facts must agree with the chain: payee, payer, amount, token, reference, chain_id,
transaction_hash, block_hash, block_number. An amount is in native coin, or in the fact token.

It asks the nodes of --chain, of --rpc-url or of ETH_RPC_URL, or else a running \`quittance up\`.
Exit code: 0 written, 1 the payment does not hold, 2 could not run.`

const CHECK_HELP = `
Examples:
  $ quittance check invoice-42.json --rpc-url https://one.example
  $ quittance check invoice-42.json --chain base
  $ quittance check invoice-42.json --trusted-block-hash HASH_OF_ITS_BLOCK
  $ quittance check invoice-42.json --payee ADDRESS --amount 0.25
  $ quittance check invoice-42.json --payee ADDRESS --amount 12.345678 --token ADDRESS

Say what you are owed. Without a payee, an amount and a token, it checks only that the payment is
real, and anyone can issue a token. An amount is in native coin, or in --token.

Exit code: 0 it holds, 1 it does not, or not yet, 2 could not run.`

export function checkCommand(): Command {
  const command = new Command('check')
    .argument('<file>')
    .option('--trusted-block-hash <hash>', 'the hash of its block; no node is asked then', hexHash)
    .option('--payee <address>', 'the address that must have received the payment', hexAddress)
    .option('--payer <address>', 'the address that must have paid', hexAddress)
    .option('--token <address>', 'the ERC-20 token that must have been paid', hexAddress)
    .option('--reference <bytes>', 'the reference of the order')
    .option('--contract <address>', 'a settlement contract at another address', hexAddress)
    .option('--offline', 'ask no node, and print the block hash that you must trust')
    .addHelpText('after', CHECK_HELP)
  return withProviders(withAmount(command)).action(async (file: string, flags: CheckFlags) => {
    process.exitCode = await runCheck(file, flags)
  })
}

async function runProve(hash: string, flags: ProveFlags): Promise<number> {
  const asked = await providersOf(flags)
  const { chainId, settlement, ...options } = asked
  const { reference, contract = settlement, log, out } = flags
  const order = await inUnits(factsOf(flags.fact ?? []), asked)
  const place = log === undefined ? undefined : Number(log)
  const request = { chainId, hash, reference, contract, log: place, order }
  const { verdict, quittance } = await prove(request, options)
  const output = createOutput(flags)
  if (quittance !== undefined) await write(out, quittance)
  const code = printVerdict(verdict, output)
  output.line(quittance === undefined ? '\nNothing was written.' : `\nWritten to ${out}`)
  return code
}

/** The file has amounts in the smallest unit; a person gives them in the coin's own. */
async function inUnits(
  facts: Record<string, string>,
  asked: Found,
): Promise<Record<string, string>> {
  const { amount, token } = facts
  if (amount === undefined) return facts
  const named = token === undefined || token === '' ? {} : { token: hexAddress(token) }
  return { ...facts, amount: String(await unitsOf({ amount, ...named }, asked)) }
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw new BaseError(
      `${file} cannot be written (${codeOf(error)}). Choose another with --out.`,
      {
        code: 'file_unwritable',
        cause: error,
      },
    )
  }
}

async function runCheck(file: string, flags: CheckFlags): Promise<number> {
  const { trustedBlockHash, offline = false } = flags
  const content = await contentOf(file)
  const asksNobody = offline || trustedBlockHash !== undefined
  const found = findProviders(flags)
  const asked = asksNobody ? { ...found, providers: [] } : found
  const { stablecoin } = found
  // A quittance names its chain; another one is refused only where somebody asks for one.
  const { chainId } = flags.chain === undefined ? flags : found
  const claim = await claimOf(flags, asked)
  const verdict = await check(content, {
    ...asked,
    trustedBlockHash,
    chainId,
    knownTokens: stablecoin === undefined ? [] : [stablecoin],
    claim,
  })
  const isOpen = verdict.status === 'holds' && isEmpty(claim)
  const caveats = isOpen ? [...verdict.caveats, ...UNCLAIMED] : verdict.caveats
  return printVerdict({ ...verdict, caveats }, createOutput(flags))
}

/** Each is a line of a terminal. */
const UNCLAIMED = [
  'Nothing was claimed: this proves that some payment holds, and not whose it is.',
  'Pass what you are owed, with --payee and --amount.',
]

/** Where the settlement contract is claims nothing of the payment. */
function isEmpty(claim: QuittanceClaim): boolean {
  return Object.values({ ...claim, settlement: undefined }).every((part) => part === undefined)
}

async function claimOf(flags: CheckFlags, asked: Found): Promise<QuittanceClaim> {
  const { payee, payer, token, reference, contract } = flags
  const amount = await unitsOf(flags, asked)
  const { settlement } = asked
  return { payee, payer, token, reference, contract, amount, settlement }
}

/** A file that is too large is not read: one byte more than any quittance has says as much. */
async function contentOf(file: string): Promise<string | Uint8Array> {
  try {
    const { size } = await stat(file)
    return size > MAX_QUITTANCE_BYTES ? ' '.repeat(MAX_QUITTANCE_BYTES + 1) : await readFile(file)
  } catch (error) {
    throw new BaseError(`${file} cannot be read (${codeOf(error)}). Pass a quittance.`, {
      code: 'file_unreadable',
      cause: error,
    })
  }
}

function factsOf(facts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    facts.map((fact) => {
      const at = fact.indexOf('=')
      if (at < 1) throw new BaseError('Write a fact as name=text.', { code: 'fact_invalid' })
      return [fact.slice(0, at), fact.slice(at + 1)] as const
    }),
  )
}
