import { Command, InvalidArgumentError } from 'commander'

import { BaseError } from '../../base/errors.ts'
import { settlementAddress } from '../../bindings/addresses.ts'
import { PROFILES, type ProfileName } from '../../verify/profiles.ts'
import type { Verdict } from '../../verify/verdict.ts'
import { verifyMint, verifyRedeem } from '../../verify/verify-supply.ts'
import { verifySettlement, verifyTransaction } from '../../verify/verify-transaction.ts'
import { createOutput } from '../output.ts'
import {
  hexAddress,
  hexHash,
  providersOf,
  wholeNumber,
  withProviders,
  type Asked,
} from '../providers.ts'
import { printVerdict } from '../verdict.ts'

type Flags = {
  rpcUrl?: string
  chainId?: bigint
  json?: boolean
  payer?: string
  payee?: string
  amount?: bigint
  token?: string
  reference?: string
  contract?: string
  settlement?: boolean
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
Amounts are in the smallest unit: wei, or millionths of a dollar.
Exit code: 0 it holds, 1 it does not, or not yet, 2 could not run.`

const TRANSACTION_HELP = `
Examples:
  $ quittance verify tx HASH --payee ADDRESS --amount 250000000000000000
  $ quittance verify tx HASH --payee ADDRESS --amount 250000000000000000 --reference REFERENCE
  $ quittance verify tx HASH --payee ADDRESS --amount 1000000 --token ADDRESS
The second went through the settlement contract.
${HELP_AFTER}`

const CONTRACT_HELP = 'another settlement contract, or the proxy of a reference'

function transactionCommand(): Command {
  const command = new Command('tx')
    .description('Tell whether the transaction of a hash pays what the record says')
    .argument('<hash>', 'of the transaction', hexHash)
    .option('--payer <address>', 'who paid', hexAddress)
    .option('--payee <address>', 'who was paid', hexAddress)
    .option('--amount <units>', 'in the smallest unit', units)
    .option('--token <address>', 'the ERC-20 that was paid; native coin without it', hexAddress)
    .option('--reference <bytes>', "the order's reference")
    .option('--settlement', 'paid through the settlement contract; --reference says so for ETH')
    .option('--contract <address>', CONTRACT_HELP, hexAddress)
    .option('--block-hash <hash>', 'the block in which the record saw it', hexHash)
    .option('--since <time>', 'it happened then or later, as in 2026-01-31T12:00Z', time)
    .option('--until <time>', 'it happened then or earlier', time)
    .addHelpText('after', TRANSACTION_HELP)
  return withProviders(command).action(async (hash: string, flags: Flags) => {
    const asked = await providersOf(flags)
    const verdict = await runTransaction(hash, flags, asked)
    const output = createOutput(flags)
    process.exitCode = printVerdict(verdict, output)
    if (wentThrough(verdict, asked)) output.line(SETTLED_HINT)
  })
}

function runTransaction(hash: string, flags: Flags, asked: Asked): Promise<Verdict> {
  const claim = { ...claimOf(flags, asked), hash }
  const isSettled = flags.reference !== undefined || flags.contract !== undefined
  if (!flags.settlement && (flags.token !== undefined || !isSettled)) {
    return verifyTransaction({ ...claim, token: flags.token }, asked)
  }
  const reference = required(flags.reference, '--reference')
  const payee = required(flags.payee, '--payee')
  const amount = required(flags.amount, '--amount')
  const token = flags.token ?? null
  const contract = flags.contract ?? asked.settlement
  return verifySettlement({ ...claim, reference, payee, amount, token, contract }, asked)
}

/** Whether a payment that was claimed as a plain one went to the settlement contract instead. */
function wentThrough({ disagreements, evidence }: Verdict, { settlement }: Asked): boolean {
  const contract = (settlement ?? settlementAddress).toLowerCase()
  const isOther = disagreements.some(({ kind }) => kind === 'wrong_recipient')
  return isOther && evidence?.transaction.to === contract
}

const SETTLED_HINT =
  '\nIt went through the settlement contract. Name the order: --reference REFERENCE'

type Run = (flags: Flags, asked: Asked) => Promise<Verdict>

function supplyCommand(name: 'mint' | 'redeem', run: Run): Command {
  const command = new Command(name)
    .description(`Tell whether a ${name} of a stablecoin is what the record says`)
    .requiredOption('--token <address>', 'the stablecoin', hexAddress)
    .requiredOption('--profile <name>', `one of ${Object.keys(PROFILES).join(', ')}`)
    .requiredOption('--amount <units>', 'in the smallest unit', units)
    .option('--reference <memo>', "the order's memo, where the token has memos")
    .option('--hash <hash>', 'the transaction; looked for in the blocks without it', hexHash)
    .option('--from-block <number>', 'the first block to look in', wholeNumber)
    .option('--to-block <number>', 'the last block to look in', wholeNumber)
    .option('--block-hash <hash>', 'the block in which the record saw it', hexHash)
    .option('--since <time>', 'it happened then or later, as in 2026-01-31T12:00Z', time)
    .option('--until <time>', 'it happened then or earlier', time)
    .addHelpText('after', HELP_AFTER)
  if (name === 'mint') {
    command.requiredOption('--payee <address>', 'who received', hexAddress)
    command.option('--minter <address...>', 'who may mint for the issuer', hexAddresses)
  } else {
    command.requiredOption('--payer <address>', 'who redeemed', hexAddress)
    command.option('--issuer <address>', 'who received, where a redeem is a transfer', hexAddress)
  }
  return withProviders(command).action(async (flags: Flags) => {
    refuseHalfARange(flags)
    const asked = await providersOf(flags)
    process.exitCode = printVerdict(await run(flags, asked), createOutput(flags))
  })
}

function runMint(flags: Flags, asked: Asked): Promise<Verdict> {
  const payee = required(flags.payee, '--payee')
  return verifyMint({ ...supplyOf(flags, asked), payee, minters: flags.minter }, asked)
}

function runRedeem(flags: Flags, asked: Asked): Promise<Verdict> {
  const payer = required(flags.payer, '--payer')
  return verifyRedeem({ ...supplyOf(flags, asked), payer, issuer: flags.issuer }, asked)
}

/** Without the other end, it would be looked for elsewhere than was asked. */
function refuseHalfARange({ fromBlock, toBlock }: Flags): void {
  if ((fromBlock === undefined) === (toBlock === undefined)) return
  throw new BaseError('A range has two ends. Give --from-block and --to-block, or neither.', {
    code: 'option_missing',
  })
}

function supplyOf(flags: Flags, asked: Asked) {
  const { fromBlock: from, toBlock: to } = flags
  return {
    ...claimOf(flags, asked),
    token: required(flags.token, '--token'),
    profile: required(flags.profile, '--profile'),
    amount: required(flags.amount, '--amount'),
    hash: flags.hash,
    blocks: from === undefined || to === undefined ? undefined : { from, to },
  }
}

function claimOf(flags: Flags, { chainId }: Asked) {
  const { payer, payee, amount, reference, contract, blockHash, since: from, until: to } = flags
  const window = from || to ? { ...(from ? { from } : {}), ...(to ? { to } : {}) } : undefined
  return { chainId, payer, payee, amount, reference, contract, blockHash, window }
}

function hexAddresses(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, hexAddress(text)]
}

function time(text: string): Date {
  const date = new Date(text)
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text) && !Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('It must be a time in UTC, such as 2026-01-31T12:00:00Z.')
}

function units(text: string): bigint {
  if (/^\d{1,78}$/.test(text)) return BigInt(text)
  throw new InvalidArgumentError(
    'It must be a whole number of the smallest unit: 0.25 ETH is 250000000000000000.',
  )
}

function required<Value>(value: Value | undefined, name: string): Value {
  if (value !== undefined) return value
  throw new BaseError(`This needs ${name}. See --help.`, { code: 'option_missing' })
}
