import { Command, Option } from 'commander'

import { parseConfig } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { findRunning } from '../../base/ready.ts'
import { createPlatformClient } from '../../client/index.ts'
import type {
  PlatformSignerWire,
  SignerListWire,
  StablecoinWire,
} from '../../wire/group-b/signers.ts'
import { parseId } from '../access.ts'
import { chainOption } from '../chain.ts'
import { createOutput, EXIT, formatPairs, formatTable, type Output } from '../output.ts'

type Flags = { chain?: string; url?: string; after: number; users?: boolean; json?: boolean }

export function signersCommand(): Command {
  return new Command('signers')
    .description('Show the addresses that sign: what each is for, what it has and what it needs')
    .option('--url <url>', 'the server (default: the one that runs on this data folder)')
    .addOption(chainOption())
    .option('--users', 'also the addresses of the users, a hundred per page')
    .addOption(
      new Option('--after <id>', 'of the users: start after this id').default(0).argParser(parseId),
    )
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', HELP_AFTER)
    .action(async (flags: Flags) => {
      process.exitCode = await run(flags)
    })
}

const HELP_AFTER = `
Examples:
  $ quittance signers
  $ quittance signers --chain base
  $ quittance signers --users --after 100
  $ QUITTANCE_ADMIN_KEY=… quittance signers --url https://pay.example.com

It asks the server with the administrator's key in QUITTANCE_ADMIN_KEY. The sandbox has its own.
Exit code: 0 nothing is missing, 1 a signer of the platform needs the operator, 2 could not run.`

async function run(flags: Flags): Promise<number> {
  const output = createOutput(flags)
  const client = connect(flags)
  const page = { limit: 100, after_id: flags.after }
  const list = await client.admin.signers({ ...page, chain: flags.chain })
  output.result(list)
  for (const signer of list.platform)
    tellOwn(output, signer as PlatformSignerWire, list.coin ?? 'ETH')
  if (list.stablecoin !== null) tellToken(output, list.stablecoin as StablecoinWire)
  if (flags.users) tellUsers(output, list as Pick<SignerListWire, 'users' | 'next_after_id'>)
  return list.platform.some(({ alerts }) => alerts.length > 0) ? EXIT.disagrees : EXIT.holds
}

/** A stranger's server never gets the key of the one that runs here. */
function connect({ url }: Flags) {
  const { dataFolder, adminKey } = parseConfig(process.env)
  const running = url === undefined ? findRunning(dataFolder) : undefined
  const baseUrl = url ?? running?.url
  if (baseUrl === undefined) {
    const message = 'No server runs on this data folder. Start one with `npm start`, or name --url.'
    throw new BaseError(message, { code: 'server_not_found' })
  }
  const apiKey = adminKey ?? running?.admin?.apiKey
  if (apiKey === undefined) {
    const message = 'No API key is set. Set QUITTANCE_ADMIN_KEY to the API key of an administrator.'
    throw new BaseError(message, { code: 'admin_key_missing' })
  }
  return createPlatformClient({ baseUrl, apiKey, timeoutMs: 30_000 })
}

function tellOwn(output: Output, signer: PlatformSignerWire, coin: string): void {
  const { mint } = signer
  const held = (decimal: string | null): string => amountOf(decimal, coin)
  output.line(`${signer.address} signs ${signer.purposes.join(', ')}`)
  output.line(
    formatPairs([
      ['balance', held(signer.balance_decimal)],
      ['next 100 payments', held(signer.needed_decimal)],
      ['gas today', held(signer.gas_today_decimal)],
      ['next nonce', String(signer.next_nonce ?? 'unknown')],
      ['in progress', String(signer.on_its_way)],
      ...(mint === null ? [] : [['can mint', mintOf(mint)] as const]),
      ...signer.alerts.map(
        ({ kind, since }) => ['alert', `${REMEDIES[kind]} Since ${since}.`] as const,
      ),
    ]),
  )
}

function tellToken(output: Output, token: StablecoinWire): void {
  const { symbol, address, decimals, profile, is_paused: isPaused } = token
  const pause = isPaused === null ? 'unknown' : isPaused ? 'yes' : 'no'
  output.line(`${address} is the stablecoin`)
  output.line(
    formatPairs([
      ['symbol', symbol ?? 'none'],
      ['decimals', String(decimals)],
      ['kind', profile],
      ['paused', pause],
    ]),
  )
}

function amountOf(decimal: string | null, coin: string): string {
  return decimal === null ? 'unknown: no provider answers now' : `${decimal} ${coin}`
}

function mintOf(mint: NonNullable<PlatformSignerWire['mint']>): string {
  return mint.is_minter ? `${mint.allowance} dollars more` : 'nothing: it is not a minter'
}

const REMEDIES: Readonly<Record<PlatformSignerWire['alerts'][number]['kind'], string>> = {
  signer_funds_low: 'It has less than its next payments cost. Send native coin to it.',
  minter_missing:
    'It had to mint and is not a minter. Ask the admin of the token to call configureMinter.',
  mint_allowance_used_up:
    'Its mint allowance is used up. Ask the admin of the token to call configureMinter.',
  signer_frozen: 'The token has frozen it. Ask the issuer to unfreeze it, or set another signer.',
  mint_allowance_exceeded: 'A mint exceeded its allowance. Ask the admin of the token to raise it.',
}

function tellUsers(output: Output, list: Pick<SignerListWire, 'users' | 'next_after_id'>): void {
  output.line()
  const headings = ['user', 'address', 'balance', 'next nonce', 'in progress', 'gas today']
  const rows = list.users.map((user) => [
    `${user.username} (${user.user_id})`,
    user.address,
    user.balance_decimal ?? '?',
    String(user.next_nonce ?? '?'),
    String(user.on_its_way),
    user.gas_today_decimal,
  ])
  output.line(formatTable(headings, rows))
  if (list.next_after_id !== null) output.line(`There are more: --after ${list.next_after_id}`)
}
