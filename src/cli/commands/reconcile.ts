import { Command, InvalidArgumentError } from 'commander'

import type { OwnRequest } from '../../app/reconcile/own.ts'
import type { NamedToken, ReportJson } from '../../app/reconcile/source.ts'
import { parseConfig } from '../../base/config.ts'
import { BaseError, codeOf, messageOf } from '../../base/errors.ts'
import { findRunning } from '../../base/ready.ts'
import { breakLines, printable } from '../breaks.ts'
import { chooseChain } from '../chain.ts'
import { createOutput, EXIT, formatPairs, formatTable, type Output } from '../output.ts'
import { createProgress, untilSignal } from '../progress.ts'
import { addressesOf, hexAddress, time, withProviders, type ProviderFlags } from '../providers.ts'

type Flags = ProviderFlags & {
  source?: string
  since?: Date
  until?: Date
  out?: string
  resume?: boolean
  grace: number
  token?: NamedToken[]
  json?: boolean
}

export function reconcileCommand(): Command {
  const command = new Command('reconcile')
    .option(
      '--source <where>',
      'a CSV, JSON lines, or a server (default: the records of this installation)',
    )
    .option('--since <time>', 'only records created at this time or later', time)
    .option('--until <time>', 'only records created before this time', time)
    .option('--out <folder>', 'the folder for breaks.csv, report.json and report.html')
    .option('--resume', 'continue the run that stopped, from the folder of --out')
    .option('--token <[currency=]address>', TOKEN_HELP, parseToken)
    .option(
      '--grace <minutes>',
      'how long a transaction can be in progress, in minutes',
      parseMinutes,
      60,
    )
  return withProviders(command)
    .addHelpText('after', HELP_AFTER)
    .action(async (flags: Flags) => {
      if (flags.source === undefined) refuseForeign(command)
      if (flags.source === '') throw new NoSourceError()
      if (flags.resume === true && flags.out === undefined) throw new NoFolderError()
      process.exitCode = await run(flags)
    })
}

const TOKEN_HELP = 'the token of amounts in a currency; of USD, and of its own symbol, without one'

const HELP_AFTER = `
Examples:
  $ quittance reconcile                                 our own records, all of them
  $ quittance reconcile --since 2025-03-01 --out report
  $ quittance reconcile --chain base                    our own records on base
  $ quittance reconcile --source payments.csv --rpc-url https://NODE --json
  $ quittance reconcile --source payments.csv --token 0xA0b8…6eB48 --token EURC=0x1aBa…33eB4c
  $ quittance reconcile --source https://HOST --since 2025-03-01
  $ quittance reconcile --source payments.csv --out report --resume

Without --source, it asks the program that runs here for a run over its records on one chain. If
none runs, this process does the run on DATABASE_URL and the providers of the chain. It reports all
open breaks of the chain.
With --out, a run over a source keeps its progress in journal.jsonl there until it ends;
--resume continues it, however the process ended.
The first line of the file has transaction_id and eth_transaction_hash, and can have
to_address, amount, currency, token, reference, status, created_at, from_address, nonce, block_hash,
gas_used, gas_price, rollup_fee and raw_transaction. It reads a server by GET /api/transactions with
QUITTANCE_SOURCE_KEY.
With --chain, it reads only the records of that chain.
An amount without a currency is in the coin of the chain (ETH, on Polygon POL), or in the column
token. USD is the token of --token or STABLECOIN_ADDRESS. A currency without a token is not
compared, and its line is reported.
Exit code: 0 all records hold or are pending, 1 a break, an unreadable row or a record that is not
compared was found, 2 could not run.`

async function run(flags: Flags): Promise<number> {
  const { signal, stop } = untilSignal()
  const progress = createProgress({
    label: 'reconcile',
    unit: 'records',
    stream: process.stderr,
    nowMs: () => performance.now(),
  })
  try {
    const { since, until, out } = flags
    const config = parseConfig(process.env)
    const { chain } = flags
    const request = { config, chain, since, until, out, signal, onProgress: progress.update }
    const report = await reconcile(flags, request).finally(progress.end)
    const output = createOutput(flags)
    output.result(report)
    printReport(report, { output, flags })
    const { breaks, unreadable, not_compared: uncompared } = report.summary
    return breaks + unreadable + uncompared > 0 ? EXIT.disagrees : EXIT.holds
  } catch (error) {
    // Whatever was under way fails in its own words, which say nothing of the person who ended it.
    throw signal.aborted ? new StoppedError(flags, error) : withVariable(error, flags)
  } finally {
    stop()
  }
}

/** Each of the two loads packages that the other does not need. */
async function reconcile(flags: Flags, request: OwnRequest): Promise<ReportJson> {
  const { grace, source } = flags
  if (source === undefined) {
    const { reconcileOwn } = await import('../../app/reconcile/own.ts')
    const ready = findRunning(request.config.dataFolder)
    const { config } = chooseChain(flags.chain, { ...request, ready })
    return reconcileOwn({ ...request, config })
  }
  const { contractsKnownTo, openSource, reconcileSource } =
    await import('../../app/reconcile/source.ts')
  // A source that cannot be read is reported before the program looks for a node.
  const { sourceKey } = request.config
  const records = openSource(source, { ...request, sourceKey })
  const { chainId, ...chain } = addressesOf(flags)
  return reconcileSource({
    ...request,
    ...chain,
    source: records,
    contractsOn: contractsKnownTo(request.config),
    chainId: chainId === undefined ? undefined : Number(chainId),
    graceMs: grace * 60_000,
    tokens: flags.token,
    isResumed: flags.resume,
  })
}

/** Our own records are compared with the chain only by the settings of the installation. */
function refuseForeign(command: Command): void {
  const given = ['rpcUrl', 'chainId', 'confirmations', 'grace', 'resume', 'token'].filter(
    (name) => command.getOptionValueSource(name) === 'cli',
  )
  if (given.length === 0) return
  throw new BaseError(
    '--rpc-url, --chain-id, --confirmations, --grace, --token and --resume need --source. ' +
      'The records of this installation use its settings, and their run resumes by itself.',
    { code: 'option_without_source' },
  )
}

class NoFolderError extends BaseError {
  constructor() {
    super('--resume continues the run of a folder. Name it with --out.', {
      code: 'option_without_out',
    })
  }
}

class NoSourceError extends BaseError {
  constructor() {
    super(
      '--source is empty. Name a file or the address of a server, or leave out --source for the ' +
        'records of this installation.',
      { code: 'source_empty' },
    )
  }
}

/** The server names the header that it read; a person has set the variable. */
function withVariable(error: unknown, { source }: Flags): unknown {
  if (source === undefined || codeOf(error) !== 'unauthorized') return error
  const message = `${messageOf(error)} It is the key in QUITTANCE_SOURCE_KEY.`
  return new BaseError(message, { code: 'unauthorized', cause: error })
}

class StoppedError extends BaseError {
  constructor({ source, out }: Flags, cause: unknown) {
    const onward =
      source === undefined
        ? 'The run over the records of this installation continues in the program there, or in ' +
          'the next worker.'
        : out === undefined
          ? 'Nothing of it is kept. With --out, a run that stops can be continued.'
          : `To continue, run the same command with --resume. Its progress is in ${out}`
    super(`Stopped. ${onward}`, { code: 'stopped', cause })
  }
}

/** More than that is read better in a file. */
const MAX_SHOWN = 20

function printReport(
  { summary, breaks, unreadable, not_compared: uncompared }: ReportJson,
  { output, flags }: { output: Output; flags: Flags },
): void {
  const { records, matched, pending } = summary
  output.line(
    formatPairs([
      ['records', records.toLocaleString('en')],
      ['matched', matched.toLocaleString('en')],
      ['pending', pending.toLocaleString('en')],
      ['not compared', summary.not_compared.toLocaleString('en')],
      ['breaks', summary.breaks.toLocaleString('en')],
      ['unreadable', summary.unreadable.toLocaleString('en')],
      ['took', `${(summary.elapsed_ms / 1000).toFixed(1)} s`],
    ]),
  )
  const kinds = Object.entries(summary.by_kind).map(([kind, count]) => [kind, String(count)])
  if (kinds.length > 0) output.line(`\n${formatTable(['break', 'count'], kinds)}`)
  const shown = breaks.slice(0, MAX_SHOWN)
  const isTerminal = process.stdout.isTTY
  if (shown.length > 0) {
    output.line(`\n${breakLines(shown, { chainId: summary.chain_id, isTerminal }).join('\n')}`)
  }
  if (summary.breaks > shown.length) output.line(`  … and ${summary.breaks - shown.length} more`)
  if (unreadable.length + uncompared.length > 0) output.line()
  for (const { line, problem } of unreadable.slice(0, MAX_SHOWN)) {
    output.line(`  line ${line} cannot be read: ${printable(problem)}`)
  }
  for (const { line, transaction_id: id, problem } of uncompared.slice(0, MAX_SHOWN)) {
    const place = line === null ? id : `line ${line} (${id})`
    output.line(`  ${printable(place)} is not compared: ${printable(problem)}`)
  }
  const unshown = summary.not_compared - Math.min(uncompared.length, MAX_SHOWN)
  if (unshown > 0) output.line(`  … and ${unshown} more are not compared`)
  if (flags.out !== undefined) output.line(`\nWritten to ${flags.out}`)
  else if (summary.breaks > 0) output.line('\n--out FOLDER or --json shows each break in full.')
}

function parseToken(text: string, earlier: readonly NamedToken[] = []): NamedToken[] {
  const [, currency, where = ''] = /^(?:([^=]*)=)?(.*)$/s.exec(text) ?? []
  const address = hexAddress(where)
  if (currency !== undefined && !/^\S{1,32}$/.test(currency)) {
    throw new InvalidArgumentError('Write CURRENCY=ADDRESS.')
  }
  if (earlier.some((one) => (one.currency ?? 'USD') === (currency ?? 'USD'))) {
    throw new InvalidArgumentError(`${currency ?? 'USD'} is named twice. Name it once.`)
  }
  return [...earlier, { currency, address }]
}

function parseMinutes(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a number of minutes.')
  return Number(text)
}
