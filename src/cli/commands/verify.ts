import { Command } from 'commander'

import { BaseError } from '../../base/errors.ts'
import { PROFILES, type ProfileName } from '../../verify/profiles.ts'
import type { Verdict } from '../../verify/verdict.ts'
import { verifyMint, verifyRedeem } from '../../verify/verify-supply.ts'
import { verifyTransaction } from '../../verify/verify-transaction.ts'
import { unitsOf, withAmount, type AmountFlags } from '../amounts.ts'
import { createOutput } from '../output.ts'
import {
  hexAddress,
  hexHash,
  place,
  providersOf,
  time,
  wholeNumber,
  withProviders,
  type Asked,
  type ProviderFlags,
} from '../providers.ts'
import { printVerdict } from '../verdict.ts'

type Flags = AmountFlags &
  ProviderFlags & {
    json?: boolean
    payer?: string
    payee?: string
    reference?: string
    contract?: string
    nonce?: bigint
    log?: bigint
    profile?: ProfileName
    hash?: string
    issuer?: string
    minter?: string[]
    fromBlock?: bigint
    toBlock?: bigint
    blockHash?: string
    since?: Date
    until?: Date
  }

export function verifyCommand(): Command {
  return new Command('verify')
    .addCommand(transactionCommand())
    .addCommand(supplyCommand('mint', runMint))
    .addCommand(supplyCommand('redeem', runRedeem))
    .addHelpText('after', HELP_AFTER)
}

const HELP_AFTER = `
An amount is in native coin (18 decimals), or in --token, with the decimals of the token.
Exit code: 0 it holds, 1 it does not, or not yet, 2 could not run.`

const TRANSACTION_HELP = `
Examples:
  $ quittance verify tx HASH --payee ADDRESS --amount 0.25
  $ quittance verify tx HASH --payee ADDRESS --amount 12.345678 --token ADDRESS
  $ quittance verify tx HASH --payee ADDRESS --amount 0.25 --reference REFERENCE
  $ quittance verify tx HASH --payer ADDRESS --nonce 42
  $ quittance verify tx HASH --chain base --payee ADDRESS --amount 0.25

A payment through the settlement contract is found like any other. --nonce and --payer show whether
another transaction replaced one that is missing.
${HELP_AFTER}`

const CONTRACT_HELP =
  'only events of this contract: another settlement contract, or a proxy of Request'

function transactionCommand(): Command {
  const command = new Command('tx')
    .description('Check whether the transaction of a hash pays what the record says')
    .argument('<hash>', 'the hash of the transaction', hexHash)
    .option('--payer <address>', 'the address that paid', hexAddress)
    .option('--payee <address>', 'the address that was paid', hexAddress)
    .option(
      '--token <address>',
      'the ERC-20 token that was paid (default: native coin)',
      hexAddress,
    )
    .option('--reference <bytes>', 'the reference of the order')
    .option(
      '--log <number>',
      'which of several equal payments, by the index of its event in the receipt',
      place,
    )
    .option('--nonce <number>', 'the nonce of the transaction; needs --payer', wholeNumber)
    .option('--contract <address>', CONTRACT_HELP, hexAddress)
    .option('--block-hash <hash>', 'the hash of the block in the record', hexHash)
    .option('--since <time>', 'it happened at this time or later, such as 2026-01-31T12:00Z', time)
    .option('--until <time>', 'it happened at this time or earlier', time)
    .addHelpText('after', TRANSACTION_HELP)
  return withProviders(withAmount(command)).action(async (hash: string, flags: Flags) => {
    if (flags.nonce !== undefined) required(flags.payer, '--payer')
    const asked = await providersOf(flags)
    const { token, nonce, log } = flags
    const claim = { ...(await claimOf(flags, asked)), hash, token, nonce }
    const { settlement } = asked
    const chosen = { settlement, log: log === undefined ? undefined : Number(log) }
    const verdict = await verifyTransaction({ ...claim, ...chosen }, asked)
    process.exitCode = printVerdict(verdict, createOutput(flags))
  })
}

type Run = (flags: Flags, asked: Asked) => Promise<Verdict>

function supplyCommand(name: 'mint' | 'redeem', run: Run): Command {
  const command = new Command(name)
    .description(`Check whether a ${name} of a stablecoin is as recorded`)
    .requiredOption('--token <address>', 'the stablecoin', hexAddress)
    .requiredOption('--profile <name>', `one of ${Object.keys(PROFILES).join(', ')}`)
    .option('--reference <memo>', 'the memo of the order, if the token has memos')
    .option(
      '--hash <hash>',
      'the hash of the transaction; without it the blocks are searched',
      hexHash,
    )
    .option('--from-block <number>', 'the first block to search', wholeNumber)
    .option('--to-block <number>', 'the last block to search', wholeNumber)
    .option('--block-hash <hash>', 'the hash of the block in the record', hexHash)
    .option('--since <time>', 'it happened at this time or later, such as 2026-01-31T12:00Z', time)
    .option('--until <time>', 'it happened at this time or earlier', time)
    .addHelpText('after', HELP_AFTER)
  if (name === 'mint') {
    command.requiredOption('--payee <address>', 'the address that received', hexAddress)
    command.option(
      '--minter <address...>',
      'the address that can mint for the issuer',
      hexAddresses,
    )
  } else {
    command.requiredOption('--payer <address>', 'the holder that redeemed', hexAddress)
    command.option(
      '--issuer <address>',
      'the address of the issuer that the holder sent it to, for fiat-token and usdt',
      hexAddress,
    )
  }
  return withProviders(withAmount(command)).action(async (flags: Flags) => {
    required(flags.amount ?? flags.amountUnits, '--amount')
    refuseHalfARange(flags)
    const asked = await providersOf(flags)
    process.exitCode = printVerdict(await run(flags, asked), createOutput(flags))
  })
}

async function runMint(flags: Flags, asked: Asked): Promise<Verdict> {
  const payee = required(flags.payee, '--payee')
  return verifyMint({ ...(await supplyOf(flags, asked)), payee, minters: flags.minter }, asked)
}

async function runRedeem(flags: Flags, asked: Asked): Promise<Verdict> {
  const payer = required(flags.payer, '--payer')
  return verifyRedeem({ ...(await supplyOf(flags, asked)), payer, issuer: flags.issuer }, asked)
}

/** Without the other end, it would be looked for elsewhere than was asked. */
function refuseHalfARange({ fromBlock, toBlock }: Flags): void {
  if ((fromBlock === undefined) === (toBlock === undefined)) return
  throw new BaseError('A range needs both ends. Pass --from-block and --to-block, or neither.', {
    code: 'option_missing',
  })
}

async function supplyOf(flags: Flags, asked: Asked) {
  const { fromBlock: from, toBlock: to } = flags
  const claim = await claimOf(flags, asked)
  return {
    ...claim,
    token: required(flags.token, '--token'),
    profile: required(flags.profile, '--profile'),
    amount: required(claim.amount, '--amount'),
    hash: flags.hash,
    blocks: from === undefined || to === undefined ? undefined : { from, to },
  }
}

async function claimOf(flags: Flags, asked: Asked) {
  const { chainId } = asked
  const { payer, payee, reference, contract, blockHash, since: from, until: to } = flags
  const amount = await unitsOf(flags, asked)
  const window = from || to ? { ...(from ? { from } : {}), ...(to ? { to } : {}) } : undefined
  return { chainId, payer, payee, amount, reference, contract, blockHash, window }
}

function hexAddresses(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, hexAddress(text)]
}

function required<Value>(value: Value | undefined, name: string): Value {
  if (value !== undefined) return value
  throw new BaseError(`This command needs ${name}. See --help.`, { code: 'option_missing' })
}
