import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

import { Command, InvalidArgumentError, Option } from 'commander'

import { codeOf, BaseError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { parseTime } from '../../base/time.ts'
import type { ChainNames } from '../../domain/chains.ts'
import { EXPORT_KINDS, type ExportKind } from '../../domain/exports.ts'
import { listChains } from '../../store/database/chains.ts'
import type { Db } from '../../store/database/database.ts'
import { EXPORTS } from '../../store/transactions/exports.ts'
import { EXPORT_FORMATS, exportLines, type ExportFormat } from '../../wire/group-b/exports.ts'
import { requireUser, withAccess } from '../access.ts'
import { ChainUnknownError } from '../chain.ts'
import { createOutput, formatTime } from '../output.ts'

type Options = {
  kind: ExportKind
  format: ExportFormat
  from: Date
  to?: Date
  user?: string
  chain?: string
  out?: string
  json?: boolean
}

export function exportCommand(): Command {
  return new Command('export')
    .description('Write transactions, postings or fees as CSV or JSON lines, with their balances')
    .addOption(
      new Option('--kind <kind>', 'what to write').choices([...EXPORT_KINDS]).makeOptionMandatory(),
    )
    .addOption(new Option('--format <format>', 'how').choices([...EXPORT_FORMATS]).default('csv'))
    .addOption(
      new Option('--from <time>', 'a day, or a time with its zone')
        .argParser(parseMoment)
        .default(new Date(0), 'the beginning'),
    )
    .addOption(
      new Option('--to <time>', 'the end, which is excluded; at least 30 seconds ago').argParser(
        parseMoment,
      ),
    )
    .option('--user <username>', 'only those of this user')
    .option('--chain <name>', 'only what is on this chain (default: on all of them)')
    .option('--out <file>', 'the file to write instead of standard output')
    .option('--json', 'with --out: print what was written as JSON')
    .addHelpText('after', `\nExamples:${EXAMPLES}`)
    .action(write)
}

const EXAMPLES = `
  $ quittance export --kind fees --from 2026-01-01 --to 2026-02-01 --out january.csv
  $ quittance export --kind postings --user alice --format jsonl
  $ quittance export --kind fees --chain base
  $ quittance export --kind transactions | head

Each account has an opening line, its entries with the balance after each, and a closing line.
Postings continue where an earlier export ended. Transactions and fees belong to the time when they
began, with their current state. With --chain, postings are those of the account of its stablecoin.`

async function write(options: Options): Promise<void> {
  const { kind, format, from, user, chain, out } = options
  const output = createOutput(options)
  await withAccess(async (db) => {
    const latest = new Date(Date.now() - limits.exportSettleMs)
    const to = options.to !== undefined && options.to < latest ? options.to : latest
    if (from > to) throw new EndsBeforeError(to)
    const userId = user === undefined ? undefined : (await requireUser(db, user)).id
    const chainId = chain === undefined ? undefined : (await requireChain(db, chain)).chainId
    const lines = exportLines(EXPORTS[kind](db, { userId, chainId, from, to }), {
      kind,
      format,
      from,
      to,
    })
    if (out === undefined) {
      await pipeline(lines, process.stdout, { end: false }).catch(unlessClosed)
      return
    }
    // Under its own name there is only ever a whole one.
    const part = `${out}.part`
    try {
      await pipeline(lines, createWriteStream(part))
      await rename(part, out)
      output.result({ file: out, kind, format, from, to })
      output.line(`Wrote ${kind} until ${formatTime(to)} to ${out}.`)
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
  })
}

async function requireChain(db: Db, name: string): Promise<ChainNames> {
  const chains = await listChains(db)
  const found = chains.find((chain) => chain.name === name)
  if (found !== undefined) return found
  throw new ChainUnknownError(
    name,
    chains.map((chain) => chain.name),
  )
}

/** The reader may close the pipe early, as `head` does. */
function unlessClosed(error: unknown): void {
  if (codeOf(error) !== 'EPIPE') throw error
}

function parseMoment(text: string): Date {
  const moment = parseTime(text)
  if (moment !== undefined) return moment
  throw new InvalidArgumentError(
    'Write a day or a time with its zone, such as 2026-01-31T12:00:00Z.',
  )
}

class EndsBeforeError extends BaseError {
  constructor(to: Date) {
    super(`The end is ${to.toISOString()}. Set --from to an earlier time.`, {
      code: 'from_after_to',
    })
  }
}
