import { Argument, Command, InvalidArgumentError } from 'commander'

import { systemClock } from '../../base/clock.ts'
import { BaseError } from '../../base/errors.ts'
import { AmountError } from '../../domain/money.ts'
import {
  decimalOf,
  decimalOrNull,
  parseLimit,
  problemOfSetting,
  WAYS_OUT,
  type SpendLimits,
  type WayOut,
} from '../../domain/spending.ts'
import type { User } from '../../store/access/users.ts'
import type { Db } from '../../store/database/database.ts'
import {
  listLimitChanges,
  readLimits,
  setLimits,
  type LimitChange,
  type LimitSetting,
} from '../../store/orders/spend-limits.ts'
import type { Spend } from '../../store/orders/spends.ts'
import { pageOptions, requireUser, withAccess } from '../access.ts'
import { createOutput, formatTable, formatTime } from '../output.ts'

export function limitsCommand(): Command {
  return new Command('limits')
    .addCommand(listCommand())
    .addCommand(setCommand())
    .addCommand(clearCommand())
    .addCommand(historyCommand())
    .addHelpText('after', `\nWays out: ${WAYS_OUT.join(', ')}.\n\nExamples:\n${EXAMPLES}`)
}

const EXAMPLES = `  $ quittance limits list --user alice              with what is used today
  $ quittance limits set chain ETH --per-day 20000  for everyone
  $ quittance limits set wire USD --user alice --per-transaction 5000 --per-day 20000
  $ quittance limits set mint USD --user alice --per-day 0    allows no payment
  $ quittance limits clear wire USD --user alice    back to the limit of everyone`

type UserOption = { user?: string; json?: boolean }

function listCommand(): Command {
  return withUser(new Command('list'))
    .description('List the limits that apply, for everyone or for one user')
    .action(async (options: UserOption) => {
      const output = createOutput(options)
      const limits = await withAccess(async (db) => {
        const user = await findNamed(db, options)
        return readLimits(db, { userId: user?.id, now: systemClock.now() })
      })
      output.result({ user: options.user ?? null, limits: limits.map(describe) })
      const headings = ['way', 'currency', 'per transaction', 'per day', 'per payee']
      const used = options.user === undefined ? [] : ['used today']
      const rows = limits.map((one) => {
        const { way, currency, limits, amount } = one
        return [way, currency, ...shownLimits(limits), ...used.map(() => decimalOf(amount))]
      })
      output.line(formatTable([...headings, ...used], rows))
    })
}

type SetOptions = UserOption & { perTransaction?: bigint; perDay?: bigint; perPayee?: bigint }

function setCommand(): Command {
  return withUser(withWay(new Command('set')))
    .description('Set limits of one way out, for everyone or for one user; the others stay')
    .option('--per-transaction <amount>', 'the most for one payment', parseAmount)
    .option('--per-day <amount>', 'the most for one day (UTC)', parseAmount)
    .option('--per-payee <amount>', 'the most for one address in one day (UTC)', parseAmount)
    .action(async (way: WayOut, currency: string, options: SetOptions) => {
      const { perTransaction, perDay, perPayee } = options
      await change({ way, currency, perTransaction, perDay, perPayee }, options)
    })
}

function clearCommand(): Command {
  return withUser(withWay(new Command('clear')))
    .description('Remove the limits that were set, for a user or for everyone')
    .action(async (way: WayOut, currency: string, options: UserOption) => {
      const none = { perTransaction: null, perDay: null }
      const perPayee = way === 'wire' || way === 'transfer' ? undefined : null
      await change({ way, currency, ...none, perPayee }, options)
    })
}

async function change(setting: Omit<LimitSetting, 'userId'>, options: UserOption): Promise<void> {
  const problem = problemOfSetting(setting)
  if (problem !== undefined) throw new BadLimitError(problem.message)
  const { way, currency } = setting
  const inForce = await withAccess(async (db) => {
    const userId = (await findNamed(db, options))?.id
    await setLimits(db, { userId, ...setting, by: 'cli' })
    return readLimits(db, { userId, now: systemClock.now() })
  })
  const one = inForce.find((one) => one.way === way && one.currency === currency)!
  const output = createOutput(options)
  output.result({ user: options.user ?? null, ...describe(one) })
  const [perTransaction, perDay, perPayee] = shownLimits(one.limits)
  output.line(
    `${way} ${currency}, ${options.user ?? 'everyone'}: ${perTransaction} for one payment, ` +
      `${perDay} in one day, ${perPayee} to one payee in one day.`,
  )
}

function historyCommand(): Command {
  const command = withUser(new Command('history'))
  for (const option of pageOptions()) command.addOption(option)
  return command
    .description('List the changes, newest first')
    .action(async (options: UserOption & { limit: number; after: number }) => {
      const output = createOutput(options)
      const changes = await withAccess(async (db) => {
        const userId = (await findNamed(db, options))?.id
        const before = options.after === 0 ? undefined : BigInt(options.after)
        return listLimitChanges(db, { userId, before, limit: options.limit })
      })
      output.result({ changes: changes.map(describeChange) })
      if (changes.length === 0) {
        output.line('No limit was set. The defaults apply: quittance limits list')
        return
      }
      const headings = ['id', 'time', 'by', 'user', 'way', 'currency']
      const limits = ['per transaction', 'per day', 'per payee']
      output.line(formatTable([...headings, ...limits], changes.map(rowOf)))
      if (changes.length === options.limit) {
        output.line(`There may be more: --after ${changes.at(-1)?.id}`)
      }
    })
}

function withUser(command: Command): Command {
  return command
    .option('--user <username>', 'of this user (default: of everyone)')
    .option('--json', 'print the answer as JSON')
}

function withWay(command: Command): Command {
  return command
    .addArgument(new Argument('<way>', 'how the money leaves').choices(WAYS_OUT))
    .argument('<currency>', 'such as USD or ETH')
}

async function findNamed(db: Db, { user }: UserOption): Promise<User | undefined> {
  return user === undefined ? undefined : requireUser(db, user)
}

function parseAmount(text: string): bigint {
  try {
    return parseLimit(text)
  } catch (error) {
    if (error instanceof AmountError) throw new InvalidArgumentError(error.message)
    throw error
  }
}

function describe({ way, currency, limits, amount }: Spend) {
  return { way, currency, ...textsOf(limits), usedToday: decimalOf(amount) }
}

function describeChange(change: LimitChange) {
  const { id, userId, way, currency, changedBy, changedAt } = change
  const who = { id: String(id), userId: userId ?? null, way, currency }
  return { ...who, ...textsOf(change), changedBy, changedAt }
}

function rowOf(change: LimitChange): string[] {
  const { id, userId, way, currency, changedBy, changedAt } = change
  const whose = userId === undefined ? 'everybody' : String(userId)
  const when = formatTime(changedAt)
  return [String(id), when, changedBy, whose, way, currency, ...shownLimits(change)]
}

function shownLimits(limits: SpendLimits): [string, string, string] {
  const { perTransaction, perDay, perPayee } = textsOf(limits)
  return [perTransaction ?? '-', perDay ?? '-', perPayee ?? '-']
}

function textsOf({ perTransaction, perDay, perPayee }: SpendLimits) {
  return {
    perTransaction: decimalOrNull(perTransaction),
    perDay: decimalOrNull(perDay),
    perPayee: decimalOrNull(perPayee),
  }
}

class BadLimitError extends BaseError {
  constructor(message: string) {
    super(message, { code: 'bad_limit' })
  }
}
