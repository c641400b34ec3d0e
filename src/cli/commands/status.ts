import { Command } from 'commander'

import { parseConfig } from '../../base/config.ts'
import { messageOf } from '../../base/errors.ts'
import { findRunning, type ReadyFacts } from '../../base/ready.ts'
import {
  attentionOf,
  readFigures,
  type ChainCount,
  type OperatorFigures,
} from '../operator-figures.ts'
import { createOutput, EXIT, formatPairs } from '../output.ts'

export function statusCommand(): Command {
  return new Command('status')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', HELP_AFTER)
    .action(async (options: { json?: boolean }) => {
      process.exitCode = await run(options)
    })
}

const HELP_AFTER = `
It shows each part of the program that runs on this data folder, and what the operator must do:
open breaks and alerts, low signers, orders and webhooks that lag, a drift of the
supply. Of several chains it shows each. In production set QUITTANCE_STATUS_PORT, or
QUITTANCE_ADMIN_KEY.

Exit code: 0 all is well, 1 a part failed or the operator must act, 2 nothing runs here.`

type Status = {
  status: string
  parts: Record<string, { status: string; elapsedMs?: number; message?: string }>
  warnings?: string[]
}

async function run(options: { json?: boolean }): Promise<number> {
  const output = createOutput(options)
  const { dataFolder } = parseConfig(process.env)
  const facts = findRunning(dataFolder)
  if (!facts) {
    output.result({ status: 'stopped' })
    output.line(`Nothing runs on ${dataFolder}. Start it: npm start`)
    return EXIT.cannotRun
  }
  const [status, figures] = await Promise.all([askReadiness(facts), readFigures(facts)])
  const attention = figures === undefined ? [] : attentionOf(figures)
  output.result({
    ...status,
    url: facts.url,
    pid: facts.pid,
    attention,
    figures: figures && toJson(figures),
  })
  output.line(`${status.status}: process ${facts.pid}${facts.url ? ` at ${facts.url}` : ''}`)
  output.line(
    formatPairs(
      Object.entries(status.parts).map(([name, part]) => [
        name,
        part.message ?? `${part.status}, ${part.elapsedMs} ms`,
      ]),
    ),
  )
  for (const warning of status.warnings ?? []) output.line(warning)
  for (const line of attention) output.line(line)
  if (figures === undefined) output.line(NO_FIGURES)
  else if (attention.length === 0) output.line('There is nothing for the operator to do.')
  return WELL.has(status.status) && attention.length === 0 ? EXIT.holds : EXIT.disagrees
}

const NO_FIGURES =
  'Breaks, alerts and lag are not shown: set QUITTANCE_STATUS_PORT for the program, or ' +
  'QUITTANCE_ADMIN_KEY for this command.'

function toJson(figures: OperatorFigures) {
  return {
    open_breaks: byKind(figures.openBreaks),
    sender_alerts: byKind(figures.senderAlerts),
    signer_alerts: byKind(figures.signerAlerts),
    oldest_open_order_seconds: figures.oldestOrderSeconds,
    webhook_oldest_due_seconds: figures.oldestWebhookSeconds,
    supply_drift_dollars: figures.supplyDriftDollars,
  }
}

/** On all chains together. */
function byKind(counts: readonly ChainCount[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { kind, count } of counts) sums[kind] = (sums[kind] ?? 0) + count
  return sums
}

/** What runs without a status port cannot be asked how its parts are. */
const WELL: ReadonlySet<string> = new Set(['ready', 'running'])

async function askReadiness(facts: ReadyFacts): Promise<Status> {
  if (facts.statusUrl === undefined) return { status: 'running', parts: {} }
  try {
    const response = await fetch(`${facts.statusUrl}/readyz`, { signal: AbortSignal.timeout(5000) })
    return (await response.json()) as Status
  } catch (error) {
    return { status: 'not_ready', parts: { http: { status: 'failed', message: messageOf(error) } } }
  }
}
