import { Command, Option } from 'commander'

import { parseConfig } from '../../base/config.ts'
import { BaseError } from '../../base/errors.ts'
import { forEachAtOnce } from '../../base/groups.ts'
import { readReady } from '../../base/ready.ts'
import { createPlatformClient, type Balance } from '../../client/index.ts'
import { ON_FAILURE, type OnFailure } from '../../domain/batches.ts'
import { COIN_DECIMALS } from '../../domain/coins.ts'
import { CURRENCY_DECIMALS, formatAmount, LEDGER_PER_CENT } from '../../domain/money.ts'
import { chainOption } from '../chain.ts'
import { confirmOnTerminal, requireYes } from '../confirm.ts'
import { createOutput, EXIT, formatPairs, type Output } from '../output.ts'
import {
  makePlan,
  paidRowOf,
  payPart,
  REQUESTS_AT_ONCE,
  writeResults,
  type PaidRow,
  type PayClient,
  type Plan,
} from '../pay/payments.ts'
import { readPayFile, type PayRow } from '../pay/rows.ts'
import { createProgress, untilSignal, type Progress } from '../progress.ts'

export type PayFlags = {
  chain?: string
  url?: string
  out?: string
  onFailure: OnFailure
  dryRun?: boolean
  yes?: boolean
  json?: boolean
}

export function payCommand(): Command {
  return new Command('pay')
    .description('Pay each row of a CSV once')
    .argument('<file>', 'a CSV with to_address, amount, currency, external_id, description')
    .option('--url <url>', 'the server (default: the one that runs on this data folder)')
    .addOption(chainOption())
    .option('--out <file>', 'the file for the result of each row (default: next to the CSV)')
    .addOption(
      new Option('--on-failure <how>', 'what to do when one payment cannot be made')
        .choices([...ON_FAILURE])
        .default('each'),
    )
    .option('--dry-run', 'show what would be paid, and pay nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', HELP_AFTER)
    .action(async (file: string, flags: PayFlags) => {
      const { signal, stop } = untilSignal()
      try {
        process.exitCode = await runPay(file, flags, signal)
      } finally {
        stop()
      }
    })
}

const HELP_AFTER = `
Examples:
  $ quittance pay payroll.csv --dry-run
  $ quittance pay payroll.csv
  $ quittance pay payroll.csv --chain base
  $ QUITTANCE_PAY_KEY=… quittance pay payroll.csv --url https://pay.example.com --yes

It pays from your address at the platform, with the key in QUITTANCE_PAY_KEY, through the settlement
contract, up to 1,000 payments in a request. The currency is the coin of the chain (ETH, on Polygon
POL), USD or the symbol of a token that the platform has. Without a currency it is the coin.
If it stops for any reason, run it again: it pays no row twice. A row is identified by its
external_id, or without one by the name of the file and its text. A row that is paid on one chain
is refused on another.
Exit code: 0 everything is paid, 1 something is not paid, 2 could not run.`

async function runPay(file: string, flags: PayFlags, signal: AbortSignal): Promise<number> {
  const output = createOutput(flags)
  const { out = `${file.replace(/\.csv$/i, '')}.result.csv`, onFailure } = flags
  const client = connect(flags)
  const balance = await client.blockchain.balance({ signal, chain: flags.chain })
  const chain = balance.chain ?? undefined
  if (flags.chain !== undefined && chain !== flags.chain) throw new OtherChainError(flags.chain)
  const purse = purseOf(balance)
  const rows = await readPayFile(file, { currencies: decimalsIn(purse), signal })
  const checking = progressOf('Checking', 'rows')
  let checked = 0
  const plan = await makePlan(client, rows, {
    chain,
    onFailure,
    signal,
    onPart: (count) => {
      checked += count
      checking.update({ done: checked, total: rows.length, counted: checked })
    },
  }).finally(checking.end)
  tellPlan(output, { file, rows, plan, purse })
  requireFunds(plan, purse)
  const isOpen = plan.parts.length > 0
  if (flags.dryRun) {
    output.result({ ...summaryOf(rows, { plan, purse }), dryRun: true })
    return EXIT.holds
  }
  if (isOpen) await agree(flags, countOf(plan))
  const startedAt = performance.now()
  const paid = new Map<PayRow, PaidRow>(plan.before)
  const batches = new Set(plan.batches)
  await forEachAtOnce(plan.parts, REQUESTS_AT_ONCE, async (part) => {
    const { batchId, transactions } = await payPart(client, part, {
      chain: flags.chain,
      onFailure,
      signal,
    })
    batches.add(batchId)
    for (const [place, row] of part.rows.entries()) {
      const transactionId = transactions[place] ?? ''
      paid.set(row, { transactionId, hash: '', state: 'pending', error: '' })
    }
  })
  await writeResults(out, rows, paid)
  await followBatches(client, { batches, rows, paid, signal })
  await writeResults(out, rows, paid)
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  return tellEnd(output, { rows, plan, purse, paid, out, seconds })
}

/** A stranger's server never gets the key of the one that runs here. */
function connect({ url }: PayFlags): PayClient {
  const config = parseConfig(process.env)
  const running = url === undefined ? readReady(config.dataFolder) : undefined
  const baseUrl = url ?? running?.url
  if (baseUrl === undefined) {
    const message = 'No server runs on this data folder. Start one with `npm start`, or name --url.'
    throw new BaseError(message, { code: 'server_not_found' })
  }
  const apiKey = config.payKey ?? running?.groupB?.apiKey
  if (apiKey === undefined) {
    const message = 'No API key is set. Set QUITTANCE_PAY_KEY to the API key of the user who pays.'
    throw new BaseError(message, { code: 'pay_key_missing' })
  }
  return createPlatformClient({ baseUrl, apiKey, timeoutMs: 300_000, tryTimeoutMs: 60_000 })
}

/** What gas is paid in, as the server says; one that says nothing means ether. */
function coinOf({ coin }: Pick<Balance, 'coin'>): string {
  return typeof coin === 'string' ? coin : 'ETH'
}

/** What is held, by what it is paid in, and in how many decimals that counts. */
type Purse = ReadonlyMap<string, { held: bigint; decimals: number }>

/** The coin of the chain comes first. */
function coinIn(purse: Purse): string {
  const [coin = 'ETH'] = purse.keys()
  return coin
}

function purseOf({ balance_wei: wei, tokens = [], ...balance }: Balance): Purse {
  const own = { held: BigInt(wei), decimals: COIN_DECIMALS as number }
  const purse = new Map([[coinOf(balance), own]])
  for (const { currency, decimals, balance_units: units } of tokens ?? []) {
    if (typeof currency !== 'string') continue
    const held = BigInt(units ?? 0)
    // Dollars are paid in cents.
    if (currency === 'USD') {
      purse.set(currency, { held: held / LEDGER_PER_CENT, decimals: CURRENCY_DECIMALS.USD })
    } else if (typeof decimals === 'number') {
      purse.set(currency, { held, decimals })
    }
  }
  return purse
}

function decimalsIn(purse: Purse): Map<string, number> {
  return new Map([...purse].map(([currency, { decimals }]) => [currency, decimals]))
}

function sumOf(plan: Plan, wanted: string): bigint {
  return plan.parts
    .filter(({ currency }) => currency === wanted)
    .flatMap(({ rows }) => rows)
    .reduce((sum, { units }) => sum + units, 0n)
}

function countOf({ parts }: Plan): number {
  return parts.reduce((sum, { rows }) => sum + rows.length, 0)
}

function moneyOf(purse: Purse, { amount, currency }: { amount: bigint; currency: string }): string {
  const { decimals = 0 } = purse.get(currency) ?? {}
  return `${formatAmount({ amount, decimals })} ${currency}`
}

function tellPlan(
  output: Output,
  found: { file: string; rows: readonly PayRow[]; plan: Plan; purse: Purse },
): void {
  const { file, rows, plan, purse } = found
  const { parts, before, feeWei, transactions, contracts } = plan
  const currencies = [...purse].filter(([one]) => rows.some(({ currency }) => currency === one))
  const fees = moneyOf(purse, { amount: feeWei, currency: coinIn(purse) })
  const repeated = repeatedAmong(rows)
  const unnamed = rows.filter(({ hasId }) => !hasId).length
  const lines: (readonly [string, string])[] = [
    ...currencies.map(([currency, { held }]) => {
      const own = parts.filter((part) => part.currency === currency).flatMap((part) => part.rows)
      const payees = new Set(own.map(({ toAddress }) => toAddress.toLowerCase())).size
      const sum = moneyOf(purse, { amount: sumOf(plan, currency), currency })
      const what = `${sum} in ${own.length} payments`
      const hold = `you have ${moneyOf(purse, { amount: held, currency })}`
      return [currency, `${what} to ${payees} addresses; ${hold}`] as const
    }),
    ['fees', `at most ${fees}, in ${transactions} transactions on the chain`],
  ]
  if (before.size > 0) lines.push(['paid before', `${before.size} rows, which are not paid again`])
  if (unnamed > 0) {
    lines.push(['without id', `${unnamed} rows, identified by the name of the file and their text`])
  }
  if (repeated.length > 0) lines.push(['repeated', `${linesOf(repeated)} repeat another row`])
  if (contracts.length > 0) lines.push(['contracts', `${linesOf(contracts)} pay a contract`])
  output.line(`${file}: ${rows.length} rows`)
  output.line(formatPairs(lines))
}

function repeatedAmong(rows: readonly PayRow[]): PayRow[] {
  const seen = new Set<string>()
  return rows.filter(({ toAddress, amount, currency }) => {
    const content = `${toAddress.toLowerCase()} ${amount} ${currency}`
    const isRepeated = seen.has(content)
    seen.add(content)
    return isRepeated
  })
}

function linesOf(rows: readonly PayRow[]): string {
  const shown = rows.slice(0, 10).map(({ line }) => line)
  const more = rows.length > shown.length ? ` and ${rows.length - shown.length} more` : ''
  return `${rows.length === 1 ? 'line' : 'lines'} ${shown.join(', ')}${more}`
}

/** Each part alone was within the funds; all of them together may not be. */
function requireFunds(plan: Plan, purse: Purse): void {
  for (const [currency, { held }] of purse) {
    const needed = sumOf(plan, currency) + (currency === coinIn(purse) ? plan.feeWei : 0n)
    if (needed <= held) continue
    const lacking = moneyOf(purse, { amount: needed - held, currency })
    const message = `Your address lacks ${lacking}. Send it that amount, and run the command again.`
    throw new BaseError(message, { code: 'insufficient_funds' })
  }
}

async function agree({ yes = false }: PayFlags, count: number): Promise<void> {
  if (yes) return
  await requireYes(`Pay ${count}? [y/N] `, {
    confirm: confirmOnTerminal(),
    code: 'pay_not_confirmed',
    declined: 'Nothing was paid.',
    unasked:
      'Nothing was paid, because there is no terminal to confirm it. Run the command with --yes.',
  })
}

/** Until the last payment of the last batch is final. */
async function followBatches(
  client: PayClient,
  following: {
    batches: ReadonlySet<string>
    rows: readonly PayRow[]
    paid: Map<PayRow, PaidRow>
    signal: AbortSignal
  },
): Promise<void> {
  const { batches, rows, paid, signal } = following
  const byId = new Map([...paid].map(([row, { transactionId }]) => [transactionId, row]))
  const progress = progressOf('Paying', 'payments')
  const open = new Map([...batches].map((id) => [id, 0]))
  let closed = 0
  try {
    while (open.size > 0) {
      await forEachAtOnce([...open.keys()], REQUESTS_AT_ONCE, async (id) => {
        const { sums, completed_at: doneAt } = await client.blockchain.batches.get(
          id,
          { limit: 1 },
          { signal },
        )
        const final = sums.completed.count + sums.failed.count
        open.set(id, final)
        if (doneAt === null || doneAt === undefined) return
        for await (const item of client.blockchain.batches.items(id, { signal })) {
          const row = byId.get(item.transaction_id)
          if (row !== undefined) paid.set(row, paidRowOf(item))
        }
        open.delete(id)
        closed += final
      })
      const done = [...open.values()].reduce((sum, count) => sum + count, closed)
      progress.update({ done, total: rows.length, counted: done })
      if (open.size > 0) await pause(signal)
    }
  } finally {
    progress.end()
  }
}

const POLL_MS = 500

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, POLL_MS)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
  signal.throwIfAborted()
}

function progressOf(label: string, unit: string): Progress {
  return createProgress({ label, unit, stream: process.stderr, nowMs: () => performance.now() })
}

function summaryOf(rows: readonly PayRow[], { plan, purse }: { plan: Plan; purse: Purse }) {
  const sums = [...purse.keys()].map((currency) => [
    currency,
    moneyOf(purse, { amount: sumOf(plan, currency), currency }),
  ])
  return {
    rows: rows.length,
    to_pay: countOf(plan),
    paid_before: plan.before.size,
    sums: Object.fromEntries(sums) as Record<string, string>,
    fee_wei: String(plan.feeWei),
    chain_transactions: plan.transactions,
    repeated_lines: repeatedAmong(rows).map(({ line }) => line),
    contract_lines: plan.contracts.map(({ line }) => line),
  }
}

function tellEnd(
  output: Output,
  ended: {
    rows: readonly PayRow[]
    plan: Plan
    purse: Purse
    paid: ReadonlyMap<PayRow, PaidRow>
    out: string
    seconds: number
  },
): number {
  const { rows, plan, purse, paid, out, seconds } = ended
  const failed = rows.filter((row) => paid.get(row)?.state !== 'completed')
  output.result({
    ...summaryOf(rows, { plan, purse }),
    completed: rows.length - failed.length,
    failed: failed.length,
    seconds,
    out,
  })
  const count = `${rows.length - failed.length} of ${rows.length}`
  output.line(`${count} are paid, in ${seconds} seconds. See ${out}`)
  for (const row of failed.slice(0, 10)) {
    const { error = '', state = 'open' } = paid.get(row) ?? {}
    output.line(`  line ${row.line}: ${row.toAddress} is not paid: ${error || state}`)
  }
  return failed.length === 0 ? EXIT.holds : EXIT.disagrees
}

class OtherChainError extends BaseError {
  constructor(chain: string) {
    super(`The server does not pay on ${chain}. Nothing was paid. Leave out --chain.`, {
      code: 'chain_unknown',
    })
  }
}
